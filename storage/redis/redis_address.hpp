// Where a server is: as redis.url says it, and as people read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/redis/store_error.hpp"

namespace feedmill {

/// A server among several.
struct NodeAddress {
  std::string host;
  std::uint16_t port = 0;
  bool is_learned = false;  ///< of another one, not of the URL

  bool operator==(const NodeAddress& other) const { return host == other.host && port == other.port; }
};

/// Where a server is and who we are there. From text by parse_redis_url.
struct RedisAddress {
  std::string host;  ///< name or address; "" for a unix socket; with sentinels or a cluster, what they said last
  std::uint16_t port = 6379;
  std::string socket;  ///< path; "" for TCP
  std::string user, password;
  int database = 0;
  bool tls = false;
  std::string ca_file, cert_file, key_file;      ///< with tls, as of StoreOptions; not in a URL
  std::vector<NodeAddress> sentinels;            ///< whom to ask for the primary, in this order; none: host is it
  std::string service;                           ///< what they call it
  std::string sentinel_user, sentinel_password;  ///< who we are to them, as of StoreOptions; not in a URL
  std::vector<NodeAddress> cluster;              ///< whom to ask for the holder of `slot`; none: it is no cluster
  unsigned slot = 0;                             ///< of a cluster: where all keys are; not in a URL
};

/// redis://[user[:password]@]host[:port][/db] ·
/// redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/service[/db] where user and password are those of the
/// primary · redis+cluster://[user[:password]@]host[:port][,host[:port]…], some of its nodes · rediss://,
/// rediss+sentinel:// and rediss+cluster://, the same with TLS · unix://[user[:password]@]/path[?db=N] · unix:/path.
/// Percent-encoding in user and password is undone. `unsupported` for other schemes, and for TLS where hiredis has none
/// (before 1.0). The error never holds the password.
boost::system::result<RedisAddress, StoreError> parse_redis_url(std::string_view url);
/// What is wrong with such a URL and how to write it, "" when nothing. rediss:// is wrong where hiredis has no TLS
/// (before 1.0). Never holds the password.
std::string objection_to_redis_url(std::string_view url);

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
