// What the operator's settings make of a feed's requests: who asks, over which pool, with which headers and secrets,
// and where these may go (HTTP P19, R4; SECURITY E8, E9, K2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/egress/proxy.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// The same for all hops of a fetch. Refers to the FetchOptions it was made of.
struct RequestStyle {
  std::string policy;  ///< name of the egress policy, "" = the default one: there is a pool for each
  std::string user_agent;
  std::optional<Proxy> proxy;
  std::string ca_file, pin;
  bool http1 = false;  ///< on every host
  const FetchOptions* options = nullptr;
  const Credential* credential = nullptr;
  std::vector<std::pair<std::string, std::string>> headers;  ///< of the feed, for `headers_origin` alone
  Origin headers_origin;

  /// Puts into `hop`, whose url is set and leads to `origin`, what goes there. `with_headers`: those of the feed too.
  /// Returns true when there were any.
  bool dress(HttpRequest& hop, const Origin& origin, bool with_headers) const;
};

/// Why nothing may be sent for a feed: it names what this worker's configuration does not have.
struct UnusableSettings {
  Reason reason{};
  std::string detail;
};

/// `options` must outlive what is returned.
boost::system::result<RequestStyle, UnusableSettings> request_style(const FetchOptions& options,
                                                                    const FetchRequest& request);

/// "[products ]feedmill/<version> (+<contact>; <n> subscribers; feed-id=<16 hex>)": HTTP P19. Without
/// a feed "feedmill/<version> (+<contact>)".
std::string user_agent(std::string_view contact, std::string_view feed_url, std::string_view products = {},
                       std::optional<std::uint64_t> subscribers = {});

[[noreturn]] void throw_exception_from_error(const UnusableSettings& unusable, const boost::source_location&);

}  // namespace feedmill
