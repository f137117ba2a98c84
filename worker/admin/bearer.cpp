#include "worker/admin/bearer.hpp"

#include <array>
#include <string>
#include <vector>

#include <boost/beast/core/string.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

namespace feedmill {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest(std::string_view text) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

/// What stands behind the first colon of base64 text; "" when there is none.
std::string password_of(std::string_view base64) {
  constexpr std::size_t longest = 4096;
  if (base64.empty() || base64.size() > longest || base64.size() % 4 != 0) return {};
  std::size_t padding = 0;  // EVP_DecodeBlock counts it as bytes of the text
  while (padding < base64.size() && base64[base64.size() - 1 - padding] == '=') ++padding;
  if (padding > 2) return {};
  std::vector<unsigned char> bytes(base64.size() / 4 * 3 + 1);
  const int size = EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(base64.data()),
                                   static_cast<int>(base64.size()));
  if (size < static_cast<int>(padding)) return {};
  const std::string text(bytes.begin(), bytes.begin() + size - static_cast<int>(padding));
  const auto colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

}  // namespace

bool shows_token(std::string_view authorization, std::string_view token) {
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view scheme = authorization.substr(0, space);
  std::string_view rest = authorization.substr(space);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  const std::string shown = boost::beast::iequals(scheme, "Bearer")  ? std::string(rest)
                            : boost::beast::iequals(scheme, "Basic") ? password_of(rest)
                                                                     : std::string();
  if (shown.empty()) return false;
  const Digest mine = digest(token), theirs = digest(shown);
  return CRYPTO_memcmp(mine.data(), theirs.data(), mine.size()) == 0;
}

}  // namespace feedmill
