// A TLS port for a test's redis-server, with its own certificates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/certificates.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::test {

/// Whether this build supports TLS to Redis, which takes hiredis 1.0 or later. Otherwise nothing can connect.
bool redis_tls_is_built();

/// Opens the port on 127.0.0.1. It stays open until the server ends.
class TlsPort {
 public:
  /// Wish for a certificate for 127.0.0.1 and localhost.
  static CertificateWish usual();

  /// `server` must outlive this object; its directory holds the files.
  explicit TlsPort(const RedisServer& server, const CertificateWish& wish = usual());

  /// Switches to another certificate; existing connections stay.
  void present(const CertificateWish& wish);
  /// Sets whether clients must present certificates of the authority.
  void ask_for_certificates(bool ask);
  /// Sets the protocol versions in Redis' notation: "TLSv1.2", "TLSv1.3", or both with a space between them.
  void speak(const std::string& versions);

  /// The CA of the server's certificate; clients that trust it can connect.
  const Authority& authority() const { return authority_; }
  std::uint16_t port() const { return port_; }
  /// rediss:// URL for a user of deploy/redis/users.acl (RedisServer::url_of).
  std::string url(const std::string& host = "127.0.0.1", const std::string& user = "feedmill") const;

  /// Arguments with which the server opens the port again at its next start (RedisServer::start).
  std::vector<std::string> arguments() const;

  /// Paths of a certificate and its key.
  struct Files {
    std::string certificate, key;
  };
  /// Writes a certificate and its key into the server's directory.
  Files write(const std::string& name, const Identity& identity) const;

 private:
  void set(const std::vector<std::string>& settings) const;

  const RedisServer& server_;
  Authority authority_;
  std::uint16_t port_ = 0;
};

}  // namespace feedmill::test
