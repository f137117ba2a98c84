// Where a feed says that its pushes come from (WEBSUB §2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

inline constexpr std::size_t most_hubs = 4, most_url_bytes = 2048;  // of one document; of a hub or a topic

/// Whether a hub or a topic can be called so: absolute, http or https, no credentials, ASCII without spaces and control
/// characters, at most 2048 bytes. Linear, pure.
bool is_hub_url(std::string_view url);

/// Hubs and the address to name to them.
struct HubLinks {
  std::vector<std::string> hubs;  ///< http and https, at most 4, https first, else in order
  std::string topic;              ///< absolute, byte for byte as written where it was; "" without hubs

  bool operator==(const HubLinks&) const = default;
};

/// What a document and the header it came with say: Link headers that name a hub win over the body as a whole; what
/// they do not say of the topic the body does, else it is the address that answered (WEBSUB D1, D2). `link_header`: all
/// Link lines, joined by ", "; `url`: the address that answered, absolute; `body_hubs` and `body_self` are absolute.
/// What cannot be a hub or a topic (another scheme, credentials, more than 2048 bytes, spaces) is left out. Linear,
/// pure.
HubLinks hub_links(std::string_view link_header, std::string_view url, const std::vector<std::string>& body_hubs,
                   std::string_view body_self);

}  // namespace feedmill
