// Certificates for tests: a CA of their own and certificates issued by it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

struct CertificateWish {
  std::vector<std::string> names{};  ///< as OpenSSL has them: "DNS:a.example", "IP:127.0.0.1"
  int valid_from_days = -1, valid_until_days = 30;
  unsigned rsa_bits = 0;          ///< of its key; 0: a P-256 key
  std::string digest = "SHA256";  ///< it is signed with
  std::string usage{};            ///< extended key usage: "serverAuth"; "" for none stated
  bool self_signed = false;       ///< by itself instead of the authority
  std::size_t chain_bytes = 0;    ///< others are sent along, of so many bytes (PEM)
};

/// Signs with a key generated at construction; trusted by every client that is given its file.
class Authority {
 public:
  Authority();
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  Identity issue(const CertificateWish& wish) const;
  /// PEM; gone with this object.
  std::string file() const { return file_.string(); }

 private:
  Identity own_;
  std::filesystem::path file_;
};

}  // namespace feedmill::test
