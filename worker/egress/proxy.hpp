// The operator's proxy for fetches (SECURITY E9).
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace feedmill {

/// An HTTP proxy: forwarding for http, CONNECT for https.
struct Proxy {
  std::string url;   ///< "http://[user:password@]host:port": a secret if it has a password
  std::string host;  ///< lower case, IPv6 in brackets
  unsigned port = 0;
};

/// Parses "http://[user:password@]host:port". The error explains the format and never repeats the input.
boost::system::result<Proxy, std::string> read_proxy(std::string_view text);

}  // namespace feedmill
