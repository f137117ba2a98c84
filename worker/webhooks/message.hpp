// What a webhook is sent: one message for each event, signed as Standard Webhooks 1.0.0 says (OPERATIONS B1, B2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// One request. `id` is the same however often it is tried, the receiver's idempotency key; it has no full stop.
/// `timestamp` is that of the try, in unix seconds.
struct WebhookMessage {
  std::string id;
  std::int64_t timestamp = 0;
  std::string body;
};

/// The signatures of a message by each secret ("whsec_…", "whsk_…"), with spaces between; what is none signs nothing.
std::string webhook_signature(const WebhookMessage& message, std::span<const std::string> secrets);

/// All lines that go with a message: "webhook-id: …", "webhook-timestamp: …", "webhook-signature: …" and the type.
std::vector<std::string> webhook_headers(const WebhookMessage& message, std::span<const std::string> secrets);

/// {"type":…,"timestamp":"2026-11-24T10:00:00Z","data":…}. `unix_seconds`: when it happened, whenever it is told.
/// `data` is JSON, and stands in it as it is.
std::string webhook_body(std::string_view type, std::int64_t unix_seconds, std::string_view data);

/// The type and the body of what tells a webhook that events behind `after` were trimmed before it could be told of
/// them, and which is the `oldest` there is; both are ids of the stream.
inline constexpr std::string_view events_missed = "events_missed";
std::string missed_body(std::int64_t unix_seconds, std::string_view after, std::string_view oldest);

/// A message to try a receiver with: a post_created of a feed that nobody has, and "test": true in its data. Its id is
/// random.
WebhookMessage sample_message(std::int64_t unix_seconds);

}  // namespace feedmill
