#include "tests/support/certificates.hpp"

#include <atomic>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

namespace feedmill::test {
namespace {

template <auto free>
struct Freed {
  template <class Object>
  void operator()(Object* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free>>;

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (extension == nullptr) throw std::runtime_error("certificate extension: " + value);
  X509_add_ext(certificate, extension.get(), -1);
}

/// A number not used before. Also part of an authority's name, because OpenSSL looks up chains by name.
long next_serial() {
  static std::atomic<long> last = 0;
  return ++last;
}

/// A certificate signed by `issuer` with `issuer_key`, or self-signed if they are null.
Identity make(const std::string& name, const CertificateWish& wish, X509* issuer, EVP_PKEY* issuer_key) {
  const Key key(wish.rsa_bits == 0 ? EVP_EC_gen("P-256") : EVP_RSA_gen(wish.rsa_bits));
  const Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), next_serial());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), wish.valid_from_days * 86400L);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), wish.valid_until_days * 86400L);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* const signer = issuer != nullptr ? issuer : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  extend(certificate.get(), signer, NID_basic_constraints,
         issuer != nullptr ? "critical,CA:FALSE" : "critical,CA:TRUE");
  std::string names;
  for (const std::string& one : wish.names) names += (names.empty() ? "" : ",") + one;
  if (!names.empty()) extend(certificate.get(), signer, NID_subject_alt_name, names);
  if (!wish.usage.empty()) extend(certificate.get(), signer, NID_ext_key_usage, wish.usage);
  X509_sign(certificate.get(), issuer_key != nullptr ? issuer_key : key.get(),
            EVP_get_digestbyname(wish.digest.c_str()));

  const Memory key_text(BIO_new(BIO_s_mem())), certificate_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  return Identity{text_of(certificate_text.get()), text_of(key_text.get())};
}

}  // namespace

Authority::Authority()
    : own_(make("Test Authority " + std::to_string(next_serial()), CertificateWish{}, nullptr, nullptr)) {
  std::string path = (std::filesystem::temp_directory_path() / "feedmill-authority-XXXXXX").string();
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) throw std::runtime_error("no temporary file");
  close(descriptor);
  file_ = path;
  std::ofstream(file_) << own_.certificate;
}

Authority::~Authority() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

Identity Authority::issue(const CertificateWish& wish) const {
  const Memory key_text(BIO_new_mem_buf(own_.key.data(), static_cast<int>(own_.key.size())));
  const Memory certificate_text(BIO_new_mem_buf(own_.certificate.data(), static_cast<int>(own_.certificate.size())));
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const Certificate certificate(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  Identity issued =
      wish.self_signed ? make("server", wish, nullptr, nullptr) : make("server", wish, certificate.get(), key.get());
  if (wish.chain_bytes > 0) {
    const std::string other = make("one more", CertificateWish{}, certificate.get(), key.get()).certificate;
    for (std::size_t bytes = 0; bytes < wish.chain_bytes; bytes += other.size()) issued.certificate += other;
  }
  return issued;
}

}  // namespace feedmill::test
