// Applies the operator's settings to a feed's requests: user agent, pool, headers and secrets, and where those may be
// sent (HTTP P19, R4; SECURITY E8, E9, K2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/egress/web_url.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// Settings common to all hops of a fetch. Refers to its FetchOptions and its FetchRequest.
struct RequestStyle {
  std::string policy;  ///< name of the egress policy, "" = the default; each has its own pool
  std::string user_agent;
  std::optional<Proxy> proxy;
  std::string ca_file, pin;
  bool http1 = false;  ///< for every host
  const FetchOptions* options = nullptr;
  const Credential* credential = nullptr;
  std::vector<std::pair<std::string, std::string>> headers;  ///< the feed's, sent only to `headers_origin`
  Origin headers_origin;

  /// Completes `hop`, which already has its url and goes to `origin`. `with_headers`: include the feed's own headers.
  /// Returns whether any were added.
  bool dress(HttpRequest& hop, const Origin& origin, bool with_headers) const;
};

/// Why no request can be sent for a feed: its settings name something that this worker has not configured.
struct UnusableSettings {
  Reason reason{};
  std::string detail;
};

/// The style of a feed's requests, or why none can be sent. `options` and `request` must outlive the result.
boost::system::result<RequestStyle, UnusableSettings> request_style(const FetchOptions& options,
                                                                    const FetchRequest& request);

/// "[products ]feedmill/<version> (+<contact>; <n> subscribers; feed-id=<16 hex>)": HTTP P19. Without a feed
/// "feedmill/<version> (+<contact>)".
std::string user_agent(std::string_view contact, std::string_view feed_url, std::string_view products = {},
                       std::optional<std::uint64_t> subscribers = {});

[[noreturn]] void throw_exception_from_error(const UnusableSettings& unusable, const boost::source_location&);

}  // namespace feedmill
