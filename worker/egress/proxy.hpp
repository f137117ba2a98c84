// The proxy that fetches go through, as an operator names it (SECURITY E9).
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

namespace feedmill {

/// An HTTP proxy: forwarding for http, CONNECT for https.
struct Proxy {
  std::string url;   ///< "http://[user:password@]host:port": a secret when it holds a password
  std::string host;  ///< lower case, IPv6 in brackets
  unsigned port = 0;
};

/// Reads "http://[user:password@]host:port". The error says how to write one and never repeats what was written.
boost::system::result<Proxy, std::string> read_proxy(std::string_view text);

}  // namespace feedmill
