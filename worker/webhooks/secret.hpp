// Signing secrets of webhooks in the format of Standard Webhooks 1.0.0 (OPERATIONS B2).
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// "whsec_" and the base64 of 32 random bytes: an HMAC-SHA256 key known to both sides.
std::string new_shared_secret();
/// "whsk_" and the base64 of a random ed25519 seed; the receiver gets its public_key_of().
std::string new_signing_key();

/// "whpk_" and the base64 of the public key of a "whsk_…"; "" for any other secret.
std::string public_key_of(std::string_view secret);

/// The signature of `content`: "v1,…" for a "whsec_…" of 24 to 64 bytes, "v1a,…" for a "whsk_…" of a 32-byte seed, with
/// or without its public key; "" if `secret` is neither. Pure; throws std::runtime_error if the library fails.
std::string signature_by(std::string_view secret, std::string_view content);

}  // namespace feedmill
