// URLs of the worker. libcurl's parser decides everywhere, so that the URL that was checked is the one requested (HTTP
// C1). Pure; throws only std::bad_alloc.
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace feedmill {

inline constexpr std::size_t max_url_bytes = 2048;  // HTTP §10

/// The canonical form of a feed URL: absolute http or https, scheme and host in lower case (IDN as punycode, unusual
/// spellings of IPv4 as four numbers), no trailing dot, no default port, no fragment, dot segments resolved, at least
/// "/" as path, spaces and non-ASCII bytes percent-encoded. Ignores white space around `text`. Rejects credentials
/// (SECURITY K2), control characters, more than max_url_bytes, and endings that look like our own keys (SECURITY T21).
/// The error explains why, for people.
boost::system::result<std::string, std::string> canonical_feed_url(std::string_view text);

/// A redirect's target: `location` resolved against `base`, in canonical form (see canonical_feed_url(), but without
/// SECURITY T21). Also rejects backslashes, which parsers interpret differently (HTTP C1).
boost::system::result<std::string, std::string> resolve_location(const std::string& base, std::string_view location);

/// The host in lower-case ASCII, IPv6 in brackets, without port; "" if `url` is invalid. The key of spacing and slots
/// (HTTP H1).
std::string host_of(const std::string& url);
/// The host, with ":port" appended unless it is 80 or 443. The key of quotas and back-off (HTTP H4, H10).
std::string server_of(const std::string& url);

/// Scheme, host and port of a canonical URL, which secrets are bound to (HTTP R4).
struct Origin {
  std::string scheme, host;
  unsigned port = 0;

  bool operator==(const Origin&) const = default;
};

/// The origin of `url`; all members are empty if `url` is invalid.
Origin origin_of(const std::string& url);

/// "/hooks?a" of "https://example.org/hooks?a"; "" if nothing follows the host.
std::string path_of(const std::string& url);

// The operator's proxy for fetches (SECURITY E9).

/// An HTTP proxy: forwarding for http, CONNECT for https.
struct Proxy {
  std::string url;   ///< "http://[user:password@]host:port": a secret if it has a password
  std::string host;  ///< lower case, IPv6 in brackets
  unsigned port = 0;
};

/// Parses "http://[user:password@]host:port". The error explains the format and never repeats the input.
boost::system::result<Proxy, std::string> read_proxy(std::string_view text);

}  // namespace feedmill
