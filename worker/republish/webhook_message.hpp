// Messages to webhooks: one per event, signed as in Standard Webhooks 1.0.0 (OPERATIONS B1, B2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// The message of one request. `id`, the receiver's idempotency key, is the same in all attempts and contains no full
/// stop. `timestamp`: unix seconds of the attempt.
struct WebhookMessage {
  std::string id;
  std::int64_t timestamp = 0;
  std::string body;
};

/// The signatures of a message by all secrets ("whsec_…", "whsk_…"), separated by spaces. Ignores invalid secrets.
std::string webhook_signature(const WebhookMessage& message, std::span<const std::string> secrets);

/// The header lines of a message: "webhook-id: …", "webhook-timestamp: …", "webhook-signature: …" and the content type.
std::vector<std::string> webhook_headers(const WebhookMessage& message, std::span<const std::string> secrets);

/// {"type":…,"timestamp":"2026-11-24T10:00:00Z","data":…}. `unix_seconds`: when the event happened, not when it is
/// delivered. `data`: JSON, inserted as is.
std::string webhook_body(std::string_view type, std::int64_t unix_seconds, std::string_view data);

/// Type and body of the message to a webhook that missed events: those after the stream id `after` were trimmed before
/// their delivery. `oldest`: id of the oldest event left.
inline constexpr std::string_view events_missed = "events_missed";
std::string missed_body(std::int64_t unix_seconds, std::string_view after, std::string_view oldest);

/// A test message: a post_created of a fictitious feed, with "test": true in its data and a random id.
WebhookMessage sample_message(std::int64_t unix_seconds);

// Signing secrets of webhooks in the format of Standard Webhooks 1.0.0 (OPERATIONS B2).

/// A new HMAC-SHA256 key known to both sides: "whsec_" and the base64 of 32 random bytes.
std::string new_shared_secret();
/// A new signing key: "whsk_" and the base64 of a random ed25519 seed. The receiver gets its public_key_of().
std::string new_signing_key();

/// The public key of a "whsk_…": "whpk_" and its base64; "" for any other secret.
std::string public_key_of(std::string_view secret);

/// The signature of `content`: "v1,…" for a "whsec_…" of 24 to 64 bytes; "v1a,…" for a "whsk_…" of a 32-byte seed, with
/// or without its public key; "" for any other secret. Pure; throws std::runtime_error if the crypto library fails.
std::string signature_by(std::string_view secret, std::string_view content);

}  // namespace feedmill
