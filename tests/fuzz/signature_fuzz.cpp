// Any X-Hub-Signature line (the first line of the input) for any body (the rest) → accepted only if it is the signature
// that the secret gives (SECURITY W4).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/websub/signature.hpp"

namespace {

using namespace feedmill;

constexpr std::string_view secret = "a secret that the input does not know";

struct Method {
  std::string_view name;
  const EVP_MD* (*digest)();
  Signed worth;
};
constexpr std::array methods{Method{"sha1", EVP_sha1, Signed::weak}, Method{"sha256", EVP_sha256, Signed::good},
                             Method{"sha384", EVP_sha384, Signed::good}, Method{"sha512", EVP_sha512, Signed::good}};

std::string signature(const Method& method, std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(method.digest(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(body.data()), body.size(), digest.data(), &size);
  std::string text(method.name);
  text += '=';
  for (unsigned i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4U];
    text += "0123456789abcdef"[digest[i] & 0xFU];
  }
  return text;
}

Signed check(std::string_view header, std::string_view body) {
  return check_signature(std::span(&header, 1), secret, body);
}

}  // namespace

FEEDMILL_FUZZ_TARGET(signature_fuzz, data, size) {
  const std::string_view input = fuzz::view(data, size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view header = input.substr(0, end), body = input.substr(std::min(end + 1, input.size()));

  // The digits may be in upper case, the method's name may not.
  std::string lower(header);
  const std::size_t digits = std::min(lower.find('='), lower.size());
  std::transform(lower.begin() + static_cast<std::ptrdiff_t>(digits), lower.end(),
                 lower.begin() + static_cast<std::ptrdiff_t>(digits),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Signed expected = Signed::bad;
  std::string other(body);
  other += 'x';
  for (const Method& method : methods) {
    const std::string right = signature(method, body);
    if (lower == right) expected = method.worth;
    fuzz::require(check(right, body) == method.worth);
    fuzz::require(check(right, other) == Signed::bad);
    fuzz::require(check(right + "0", body) == Signed::bad);
    fuzz::require(check(right.substr(0, right.size() - 1), body) == Signed::bad);
    const std::array<std::string_view, 2> twice{right, header};
    fuzz::require(check_signature(twice, secret, body) == Signed::bad);
  }
  fuzz::require(check(header, body) == expected);
  fuzz::require(check_signature(std::span(&header, 1), "", body) == Signed::bad);
  return 0;
}
