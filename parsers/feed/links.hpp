// Links from a feed or its HTTP response: hubs, further pages, the Link header (RFC 8288).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// The hubs and topic that a feed declares (WEBSUB §2).

inline constexpr std::size_t most_hubs = 4, most_url_bytes = 2048;  // per document; per hub or topic

/// Whether a URL may be a hub or topic: absolute, http or https, no credentials, ASCII without spaces and control
/// characters, at most 2048 bytes. Linear, pure.
bool is_hub_url(std::string_view url);

/// The hubs of a feed, and the topic to subscribe to.
struct HubLinks {
  std::vector<std::string> hubs;  ///< http and https, at most 4; https first, otherwise in order
  std::string topic;              ///< absolute; byte for byte as written if possible; "" without hubs

  bool operator==(const HubLinks&) const = default;
};

/// Hubs and topic from a document and its Link headers. If the headers name a hub, the hubs of the body are ignored.
/// The topic comes from where the hubs are, else from the other place, else it is the final URL (WEBSUB §2).
/// `link_header`: all Link lines, joined by ", "; `url`: the final URL, absolute; `body_hubs` and `body_self` are
/// absolute. Invalid hubs and topics (another scheme, credentials, more than 2048 bytes, spaces) are ignored. Linear,
/// pure.
HubLinks hub_links(std::string_view link_header, std::string_view url, const std::vector<std::string>& body_hubs,
                   std::string_view body_self);

// The HTTP Link header (RFC 8288), which names a page's feeds and WebSub's hub and self.

/// One link of a Link header.
struct HeaderLink {
  std::string target;             ///< the reference as written between < and >, trimmed
  std::vector<std::string> rels;  ///< link relation types in lower case
  std::string type, title;
  std::string anchor;  ///< what the link is about, if not the page itself; else ""

  /// `rel` in lower case.
  bool has_rel(std::string_view rel) const;
};

/// The links in a header value; join several header lines with ", " first. Follows RFC 8288 appendix B: the first of
/// repeated parameters wins, unreadable parts are skipped. At most 256 links. Linear, pure.
std::vector<HeaderLink> read_link_header(std::string_view value);

}  // namespace feedmill
