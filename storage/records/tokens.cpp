#include "storage/records/tokens.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <openssl/rand.h>
#include <openssl/sha.h>

namespace feedmill {
namespace {

/// 128 bits in RFC 4648 §6 base32, lower case, unpadded.
std::string base32(const unsigned char* bytes) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  for (std::size_t bit = 0; bit < 128; bit += 5) {
    unsigned five = 0;
    for (std::size_t i = bit; i < bit + 5; ++i) five = five << 1U | (i < 128 ? bytes[i / 8] >> (7 - i % 8) & 1U : 0U);
    text += alphabet[five];
  }
  return text;
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("no random numbers to be had");
  return base32(bytes.data());
}

std::string token_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base32(digest.data());
}

bool is_token(std::string_view text) {
  return text.size() == token_length &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); });
}

}  // namespace feedmill
