// TLS to Redis where hiredis has it (1.0 and later, hiredis_ssl): hiredis moves the bytes, here is decided whom to
// trust (SECURITY §10). Of hiredis' own helper, which compares no host name, nothing is used.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/redis/redis_address.hpp"

struct redisContext;
struct ssl_st;

namespace feedmill {

/// What to do instead of rediss:// in a build without TLS; "" in one that has it.
std::string_view remedy_without_tls();

/// Encrypts a connection that is fresh, by TLS 1.2 or later, and makes sure that `address.host` is who answers: the
/// name or address in its certificate, the dates, the authority. Its certificates and keys are read anew each time.
/// Blocks until `deadline` at most. Returns the TLS side, which `context` owns, or why not: `tls`, `timeout`,
/// `unavailable`; the connection is then of no use.
boost::system::result<ssl_st*, StoreError> start_tls(redisContext& context, const RedisAddress& address,
                                                     std::chrono::steady_clock::time_point deadline);

/// "TLSv1.3".
std::string tls_version(const ssl_st* tls);

/// Forgets errors of other connections on this thread, so that tls_lost() tells of this one.
void forget_tls_errors();

/// Why a connection ended or broke after its handshake (nothing else: it would wait for the server). With TLS 1.3 a
/// server that does not like our certificate says so only then (`tls`). `words`: what hiredis says.
StoreError tls_lost(ssl_st* tls, const RedisAddress& address, std::string words);

}  // namespace feedmill
