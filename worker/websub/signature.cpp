#include "worker/websub/signature.hpp"

#include <array>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 0xFU];
  }
  return hex;
}

/// False unless `hex` has exactly two digits for each byte of `into`.
bool read_hex(std::string_view hex, std::span<unsigned char> into) {
  if (hex.size() != 2 * into.size()) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    into[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

/// The HMAC of `body`, in `digest`; empty if the method is not available.
std::span<const unsigned char> hmac(const EVP_MD* method, std::string_view secret, std::string_view body,
                                    Digest& digest) {
  unsigned size = 0;
  const bool made =
      HMAC(method, secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(body.data()),
           body.size(), digest.data(), &size) != nullptr;
  return std::span(digest).first(made ? size : 0);
}

struct Method {
  std::string_view name;
  const EVP_MD* (*digest)();
  Signed strength;
};
constexpr std::array methods{Method{"sha1", EVP_sha1, Signed::weak}, Method{"sha256", EVP_sha256, Signed::good},
                             Method{"sha384", EVP_sha384, Signed::good}, Method{"sha512", EVP_sha512, Signed::good}};

}  // namespace

Signed check_signature(std::span<const std::string_view> headers, std::string_view secret, std::string_view body) {
  if (headers.size() != 1 || secret.empty()) return Signed::bad;
  const std::string_view header = headers.front();
  const auto equals = header.find('=');
  if (equals == std::string_view::npos) return Signed::bad;
  for (const Method& method : methods) {
    if (header.substr(0, equals) != method.name) continue;
    Digest claimed{}, digest{};
    const auto made = hmac(method.digest(), secret, body, digest);
    if (made.empty() || !read_hex(header.substr(equals + 1), std::span(claimed).first(made.size()))) return Signed::bad;
    return CRYPTO_memcmp(claimed.data(), made.data(), made.size()) == 0 ? method.strength : Signed::bad;
  }
  return Signed::bad;
}

std::string hub_signature(std::string_view secret, std::string_view body) {
  Digest digest{};
  const auto made = hmac(EVP_sha256(), secret, body, digest);
  if (made.empty()) throw std::runtime_error("no SHA-256 available");
  return "sha256=" + hex_of(made);
}

std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("no random numbers available");
  return hex_of(bytes);
}

std::string hash_of_token(std::string_view token) {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(token.data(), token.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("no SHA-256 available");
  }
  return hex_of(std::span(digest).first(size));
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace feedmill
