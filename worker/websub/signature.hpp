// Subscription secrets and signatures (SECURITY W4, K6).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

enum class Signed {
  bad,   ///< missing, repeated, malformed, by an unknown method, or wrong
  weak,  ///< valid, but by a forgeable method: sha1
  good   ///< valid, by sha256, sha384 or sha512
};

/// `headers`: the values of all X-Hub-Signature fields; `body` as received. Compares in constant time.
Signed check_signature(std::span<const std::string_view> headers, std::string_view secret, std::string_view body);

/// "sha256=<hex>": the signature of a hub's delivery (WEBSUB U9).
std::string hub_signature(std::string_view secret, std::string_view body);

/// 64 hex digits: 256 random bits.
std::string random_secret();

/// The store's key for a token: its SHA-256 in hex.
std::string hash_of_token(std::string_view token);
/// Constant-time comparison: the time does not reveal where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace feedmill
