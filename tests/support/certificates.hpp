// Certificates for tests, issued by a test CA.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// Properties of a certificate to issue.
struct CertificateWish {
  std::vector<std::string> names{};  ///< subject alternative names: "DNS:a.example", "IP:127.0.0.1"
  int valid_from_days = -1, valid_until_days = 30;
  unsigned rsa_bits = 0;          ///< size of the RSA key; 0: a P-256 key
  std::string digest = "SHA256";  ///< digest of the signature
  std::string usage{};            ///< extended key usage: "serverAuth"; "" to omit it
  bool self_signed = false;       ///< signed by itself instead of the authority
  std::size_t chain_bytes = 0;    ///< send other certificates along, of at least this size in all (PEM)
};

/// A CA with a key generated at construction. Clients that are given its file() trust its certificates.
class Authority {
 public:
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  Identity issue(const CertificateWish& wish) const;
  /// Path of the CA certificate (PEM); the file is removed with this object.
  std::string file() const { return file_.string(); }

 private:
  Identity own_;
  std::filesystem::path file_;
};

}  // namespace feedmill::test
