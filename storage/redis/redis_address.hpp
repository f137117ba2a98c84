// A server's address: as in redis.url, and as shown to people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/redis/store_error.hpp"

namespace feedmill {

/// One of several servers.
struct NodeAddress {
  std::string host;
  std::uint16_t port = 0;
  bool is_learned = false;  ///< learned from another node, not from the URL

  bool operator==(const NodeAddress& other) const { return host == other.host && port == other.port; }
};

/// A server's address and our login there. Made from text by parse_redis_url.
struct RedisAddress {
  std::string host;  ///< name or address; "" for a unix socket; with sentinels or a cluster, the last primary they
                     ///< named
  std::uint16_t port = 6379;
  std::string socket;  ///< path; "" for TCP
  std::string user, password;
  int database = 0;
  bool tls = false;
  std::string ca_file, cert_file, key_file;      ///< with TLS, as in StoreOptions; not in a URL
  std::vector<NodeAddress> sentinels;            ///< asked for the primary, in this order; empty: host is it
  std::string service;                           ///< the sentinels' name for the primary
  std::string sentinel_user, sentinel_password;  ///< login at the sentinels, as in StoreOptions; not in a URL
  std::vector<NodeAddress> cluster;              ///< asked for the holder of `slot`; empty: not a cluster
  unsigned slot = 0;                             ///< in a cluster, the slot of all keys; not in a URL
};

/// redis://[user[:password]@]host[:port][/db] ·
/// redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/service[/db], where user and password are the
/// primary's · redis+cluster://[user[:password]@]host[:port][,host[:port]…], some of its nodes · rediss://,
/// rediss+sentinel:// and rediss+cluster://, with TLS · unix://[user[:password]@]/path[?db=N] · unix:/path. Decodes
/// percent-encoding in user and password. `unsupported` for other schemes, and for TLS if hiredis lacks it (before
/// 1.0). The error never holds the password.
boost::system::result<RedisAddress, StoreError> parse_redis_url(std::string_view url);
/// The error in a redis.url and how to write it, "" if none. rediss:// is an error if hiredis lacks TLS (before 1.0).
/// The text never holds the password.
std::string objection_to_redis_url(std::string_view url);

/// "host:port", with brackets around an IPv6 address.
inline std::string shown(const NodeAddress& node) {
  const bool is_v6 = node.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + node.host + "]" : node.host) + ":" + std::to_string(node.port);
}

/// The URL of a plain address under another scheme suffix: "redis+cluster://host:port". A login is only hinted at.
inline std::string url_as(std::string_view way, const RedisAddress& address) {
  const std::string_view login = !address.user.empty()       ? "USER:PASSWORD@"
                                 : !address.password.empty() ? ":PASSWORD@"
                                                             : "";
  const std::string server = address.host.empty() ? "host:port" : shown({address.host, address.port});
  return std::string(address.tls ? "rediss" : "redis").append(way).append("://").append(login) + server;
}

}  // namespace feedmill
