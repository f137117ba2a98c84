#include "storage/redis/redis_tls.hpp"

#ifdef FEEDMILL_REDIS_TLS
#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include "storage/redis/values.hpp"
#endif

namespace feedmill {

#ifdef FEEDMILL_REDIS_TLS

namespace {

using Clock = std::chrono::steady_clock;

template <auto free>
struct Freed {
  template <class Object>
  void operator()(Object* object) const {
    free(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Tls = std::unique_ptr<SSL, Freed<SSL_free>>;

StoreError distrust(std::string detail) {
  return {StoreError::Code::tls, std::move(detail)};
}

std::string where(const RedisAddress& address) {
  return address.host + ":" + std::to_string(address.port);
}

/// The cause: OpenSSL's first error. Later ones in its queue only repeat where it occurred.
std::string reason() {
  const unsigned long error = ERR_peek_error();
  if (ERR_SYSTEM_ERROR(error)) return std::generic_category().message(ERR_GET_REASON(error));
  const char* const text = ERR_reason_error_string(error);
  return text == nullptr ? "for no reason that is given" : text;
}

StoreError bad_file(std::string_view option, const std::string& file, std::string_view wanted) {
  return distrust(std::string(option) + " " + file + " cannot be used (" + reason() + "): it must hold " +
                  std::string(wanted));
}

/// Sets versions, authorities and our own certificate.
boost::system::result<Context, StoreError> make_context(const RedisAddress& address) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return distrust("OpenSSL does not start: " + reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // Accept an end of stream without close_notify: RESP replies carry their length.
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Avoids a prompt for a passphrase on the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (address.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else {
    if (SSL_CTX_load_verify_file(context.get(), address.ca_file.c_str()) != 1) {
      return bad_file("redis.ca_file", address.ca_file, "certificates of authorities (PEM)");
    }
    // Certificates in the file are trusted, root or not.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  }
  if (address.cert_file.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(context.get(), address.cert_file.c_str()) != 1) {
    return bad_file("redis.cert_file", address.cert_file,
                    "our certificate and those between it and its authority (PEM)");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), address.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad_file("redis.key_file", address.key_file, "the key of redis.cert_file (PEM, without a passphrase)");
  }
  return context;
}

/// Requires a certificate for this host: OpenSSL compares and aborts on a mismatch.
bool expect_host(SSL* tls, std::string host) {
  X509_VERIFY_PARAM* const expected = SSL_get0_param(tls);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return true;
  if (host.ends_with('.')) host.pop_back();  // certificates do not name the root domain
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(tls, host.c_str()) == 1 &&
         X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size()) == 1;
}

StoreError bad_certificate(const RedisAddress& address, long result) {
  const std::string what = "the certificate of Redis at " + where(address) + " ";
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return distrust(what + "is not for " + address.host + ": use a name from it in redis.url");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return distrust(what + "has expired: renew it, or set this machine's clock");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return distrust(what + "is not valid yet: set this machine's clock");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return distrust(what + "is of no authority that " +
                      (address.ca_file.empty() ? "this machine trusts: set redis.ca_file to its authority's certificate"
                                               : "redis.ca_file (" + address.ca_file + ") holds: add its authority"));
    default:
      return distrust(what + "is refused: " + X509_verify_cert_error_string(result));
  }
}

/// The server's alert about our certificate; absent for other alerts.
std::optional<StoreError> refused_by_server(const RedisAddress& address) {
  const unsigned long error = ERR_peek_error();
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return std::nullopt;
  switch (ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      break;
    default:
      return std::nullopt;
  }
  const std::string what = "Redis at " + where(address) + " breaks off the TLS handshake (" + reason() + "): ";
  return distrust(what + (address.cert_file.empty()
                              ? "if it asks for certificates, set redis.cert_file and redis.key_file"
                              : "it must trust the authority of redis.cert_file (" + address.cert_file + ")"));
}

StoreError handshake_failed(SSL* tls, const RedisAddress& address, int how) {
  if (const long result = SSL_get_verify_result(tls); result != X509_V_OK) return bad_certificate(address, result);
  if (auto refused = refused_by_server(address)) return std::move(*refused);
  const std::string at = "Redis at " + where(address);
  if (how != SSL_ERROR_SSL) {
    return {StoreError::Code::unavailable,
            "cannot connect to Redis: " + at + " ended the TLS handshake; is that its port for TLS?"};
  }
  const int what = ERR_GET_REASON(ERR_peek_error());
  if (what == SSL_R_WRONG_VERSION_NUMBER || what == SSL_R_PACKET_LENGTH_TOO_LONG || what == SSL_R_HTTP_REQUEST) {
    return distrust(at + " does not speak TLS: write redis:// into redis.url, or its port for TLS");
  }
  return distrust("no TLS with " + at + " (" + reason() + "): it must offer version 1.2 or 1.3");
}

/// Waits until the handshake can continue; false at the deadline.
bool wait_for(int descriptor, int wanted, Clock::time_point deadline) {
  pollfd waiting{descriptor, static_cast<short>(wanted == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN), 0};
  for (;;) {
    const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
    const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

void set_blocking(redisContext& context, bool blocking) {
  const int flags = fcntl(context.fd, F_GETFL);
  fcntl(context.fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
  context.flags = blocking ? context.flags | REDIS_BLOCK : context.flags & ~REDIS_BLOCK;
}

}  // namespace

std::string_view remedy_without_tls() {
  return {};
}

boost::system::result<ssl_st*, StoreError> start_tls(redisContext& context, const RedisAddress& address,
                                                     Clock::time_point deadline) {
  ERR_clear_error();
  const auto settings = make_context(address);
  if (settings.has_error()) return settings.error();
  Tls owned(SSL_new(settings->get()));
  if (owned == nullptr || !expect_host(owned.get(), address.host)) {
    return distrust("redis.url: no TLS with a host of that name: " + reason());
  }
  // A blocking handshake would wait the full timeout for each piece.
  set_blocking(context, false);
  SSL* const tls = owned.get();
  if (redisInitiateSSL(&context, tls) != REDIS_OK) {
    return handshake_failed(tls, address, ERR_peek_error() == 0 ? SSL_ERROR_SYSCALL : SSL_ERROR_SSL);
  }
  static_cast<void>(owned.release());  // now owned by the context
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls);
    if (done == 1) break;
    const int how = SSL_get_error(tls, done);
    if (how != SSL_ERROR_WANT_READ && how != SSL_ERROR_WANT_WRITE) return handshake_failed(tls, address, how);
    if (!wait_for(context.fd, how, deadline)) {
      return StoreError{StoreError::Code::timeout,
                        "no answer to the TLS handshake from Redis at " + where(address) +
                            " within redis.timeout; a server without TLS is silent: is redis:// meant?"};
    }
  }
  set_blocking(context, true);
  return tls;
}

std::string tls_version(const ssl_st* tls) {
  return SSL_get_version(tls);
}

void forget_tls_errors() {
  ERR_clear_error();
}

StoreError tls_lost(ssl_st* tls, const RedisAddress& address, std::string words) {
  const auto told = [] { return ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL; };
  if (!told()) {  // after a failed write, the server's last alert may still be readable
    ERR_clear_error();
    char byte = 0;
    SSL_read(tls, &byte, 1);
  }
  if (auto refused = refused_by_server(address)) return std::move(*refused);
  if (told()) words = reason();
  return {StoreError::Code::unavailable, "lost the connection to Redis: " + words};
}

#else

std::string_view remedy_without_tls() {
  return "rediss:// needs hiredis 1.0 with TLS, and this build has an older one (Debian 12): use the container image "
         "or "
         "a build on Debian 13, or reach Redis by redis:// or unix: through a tunnel, as stunnel";
}

// Unreachable: parse_redis_url refuses rediss://.

boost::system::result<ssl_st*, StoreError> start_tls(redisContext&, const RedisAddress&,
                                                     std::chrono::steady_clock::time_point) {
  return StoreError{StoreError::Code::unsupported, std::string(remedy_without_tls())};
}

std::string tls_version(const ssl_st*) {
  return {};
}

void forget_tls_errors() {}

StoreError tls_lost(ssl_st*, const RedisAddress&, std::string words) {
  return {StoreError::Code::unavailable, std::move(words)};
}

#endif

}  // namespace feedmill
