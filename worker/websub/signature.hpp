// Secrets, tokens and signatures of subscriptions (SECURITY W4, K6).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

/// The result of checking a delivery's signature.
enum class Signed {
  bad,   ///< missing, repeated, malformed, by an unknown method, or wrong
  weak,  ///< valid, but made with a forgeable method: sha1
  good   ///< valid, made with sha256, sha384 or sha512
};

/// `headers`: the values of all X-Hub-Signature fields; `body`: as received. Compares in constant time.
Signed check_signature(std::span<const std::string_view> headers, std::string_view secret, std::string_view body);

/// The signature of a delivery by our hub: "sha256=<hex>" (WEBSUB U9).
std::string hub_signature(std::string_view secret, std::string_view body);

/// A new secret: 256 random bits as 64 hex digits.
std::string random_secret();

/// The key of a token in the store: its SHA-256 in hex.
std::string hash_of_token(std::string_view token);
/// Compares in constant time, so that timing does not reveal where the strings differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace feedmill
