// TLS to Redis if hiredis supports it (1.0 and later, hiredis_ssl). hiredis moves the bytes; this code decides which
// peers to trust (SECURITY §10) and does not use hiredis' own helper, which does not check the host name.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/redis/redis_address.hpp"

struct redisContext;
struct ssl_st;

namespace feedmill {

/// What to use instead of rediss:// in a build without TLS; "" in a build with it.
std::string_view remedy_without_tls();

/// Encrypts a fresh connection with TLS 1.2 or later and verifies that the peer is `address.host`: name or address in
/// its certificate, dates, authority. Reads certificates and keys from their files each time. Blocks until `deadline`
/// at most. Returns the TLS session, owned by `context`, or an error: `tls`, `timeout`, `unavailable`; the connection
/// is then unusable.
boost::system::result<ssl_st*, StoreError> start_tls(redisContext& context, const RedisAddress& address,
                                                     std::chrono::steady_clock::time_point deadline);

/// The protocol version of a session, such as "TLSv1.3".
std::string tls_version(const ssl_st* tls);

/// Clears errors of other connections on this thread, so that tls_lost() reports this one's.
void forget_tls_errors();

/// The reason why a connection ended or broke after its handshake; call it only then, as it would wait for the server.
/// With TLS 1.3 a server rejects our certificate only at that point (`tls`). `words`: hiredis' message.
StoreError tls_lost(ssl_st* tls, const RedisAddress& address, std::string words);

}  // namespace feedmill
