// Addresses of servers as people read and write them.
#pragma once

#include <string>
#include <string_view>

#include "storage/redis/redis.hpp"

namespace feedmill {

/// "host:port", with brackets around an IPv6 address.
inline std::string shown(const NodeAddress& node) {
  const bool is_v6 = node.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + node.host + "]" : node.host) + ":" + std::to_string(node.port);
}

/// Another way to the server of a plain URL: "redis+cluster://host:port". A login is only named.
inline std::string url_as(std::string_view way, const RedisAddress& address) {
  const std::string_view login = !address.user.empty()       ? "USER:PASSWORD@"
                                 : !address.password.empty() ? ":PASSWORD@"
                                                             : "";
  const std::string server = address.host.empty() ? "host:port" : shown({address.host, address.port});
  return std::string(address.tls ? "rediss" : "redis").append(way).append("://").append(login) + server;
}

}  // namespace feedmill
