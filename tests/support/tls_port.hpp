// A TLS port of a test's redis-server, with certificates made for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/certificates.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::test {

/// Whether feedmill speaks TLS to Redis in this build: hiredis 1.0 and later. Without it there is nothing to connect.
bool redis_tls_is_built();

/// Opens the port on 127.0.0.1; it stays open until the server ends.
class TlsPort {
 public:
  /// A certificate for 127.0.0.1 and localhost.
  static CertificateWish usual();

  /// `server` outlives this; its directory holds the files.
  explicit TlsPort(const RedisServer& server, const CertificateWish& wish = usual());

  /// Another certificate from now on; connections that are there stay.
  void present(const CertificateWish& wish);
  /// Whether clients must show certificates of the authority, from now on.
  void ask_for_certificates(bool ask);
  /// As Redis has it: "TLSv1.2", "TLSv1.3", both with a space between them.
  void speak(const std::string& versions);

  /// The server's CA; clients that trust it can connect.
  const Authority& authority() const { return authority_; }
  std::uint16_t port() const { return port_; }
  /// As a user of deploy/redis/users.acl (RedisServer::url_of).
  std::string url(const std::string& host = "127.0.0.1", const std::string& user = "feedmill") const;

  /// With these the server opens it at its next start (RedisServer::start).
  std::vector<std::string> arguments() const;

  /// Writes both next to the server's files: the paths of a certificate and its key.
  struct Files {
    std::string certificate, key;
  };
  Files write(const std::string& name, const Identity& identity) const;

 private:
  void set(const std::vector<std::string>& settings) const;

  const RedisServer& server_;
  Authority authority_;
  std::uint16_t port_ = 0;
};

}  // namespace feedmill::test
