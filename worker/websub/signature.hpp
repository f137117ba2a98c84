// Secrets of subscriptions, and what is signed with them (SECURITY W4, W5, K6).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

enum class Signed {
  bad,   ///< missing, doubled, malformed, by an unknown method, or wrong
  weak,  ///< right, by a method that can be forged: sha1
  good   ///< right, by sha256, sha384 or sha512
};

/// `headers`: the values of all X-Hub-Signature lines; `body` as received. Digests are compared in constant time.
Signed check_signature(std::span<const std::string_view> headers, std::string_view secret, std::string_view body);

/// "sha256=<hex>": how a hub signs what it delivers (WEBSUB U10).
std::string hub_signature(std::string_view secret, std::string_view body);

/// 64 hex digits: 256 random bits.
std::string random_secret();

/// What the store knows a token by: its SHA-256 in hex.
std::string hash_of_token(std::string_view token);
/// Whether two texts are equal, in a time that tells nothing of where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace feedmill
