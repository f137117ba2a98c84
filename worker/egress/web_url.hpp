// URLs as the worker sees them. libcurl's parser decides everywhere, so that what was checked is what is requested
// (HTTP C1, R2). Pure; throws only std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace feedmill {

inline constexpr std::size_t max_url_bytes = 2048;  // HTTP §10

/// The one spelling of a feed's address: absolute http or https, scheme and host in lower case (IDN as punycode, odd
/// spellings of IPv4 as four numbers), no dot at its end, no default port, no fragment, dot segments resolved, at least
/// "/" as path, spaces and bytes outside ASCII percent-encoded. White space around `text` is forgiven. Refuses
/// credentials (SECURITY K2), control characters, more than max_url_bytes, and ends that would look like one of our own
/// keys (SECURITY T21). The error says why, for people.
boost::system::result<std::string, std::string> canonical_feed_url(std::string_view text);

/// Where a redirect from `base` leads: `location` resolved against it and made canonical as above, SECURITY T21 apart.
/// Refuses also backslashes, which parsers disagree about (HTTP R2).
boost::system::result<std::string, std::string> resolve_location(const std::string& base, std::string_view location);

/// Lower-case ASCII host, IPv6 in brackets, no port; "" when `url` is none. Spacing and slots hang on it (HTTP H1).
std::string host_of(const std::string& url);
/// The same, with ":port" behind it where that is neither 80 nor 443. Quotas and back-off hang on it (HTTP H4, H10).
std::string server_of(const std::string& url);

/// Scheme, host and port of a canonical URL: what secrets are bound to (HTTP R4).
struct Origin {
  std::string scheme, host;
  unsigned port = 0;

  bool operator==(const Origin&) const = default;
};

/// All empty when `url` is none.
Origin origin_of(const std::string& url);

/// "/hooks?a" of "https://example.org/hooks?a"; "" when nothing stands behind the host.
std::string path_of(const std::string& url);

}  // namespace feedmill
