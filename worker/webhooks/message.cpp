#include "worker/webhooks/message.hpp"

#include <chrono>

#include "parsers/text/date.hpp"
#include "parsers/text/json_writer.hpp"
#include "storage/records/tokens.hpp"
#include "worker/webhooks/secret.hpp"

namespace feedmill {
namespace {

constexpr std::string_view sample_type = "post_created";

/// The members of every event (DESIGN §4). A made-up post: not a key of the store.
std::string sample_event(std::int64_t unix_seconds) {
  const std::string post = std::string("Entry") + ":1";
  const std::string seq = std::to_string(unix_seconds * 1000) + "-0";
  JsonWriter json;
  json.begin_object();
  json.number("v", 1);
  json.string("seq", seq);
  json.string("prev", "0-0");
  json.string("type", sample_type);
  json.string("entity_type", "post");
  json.string("entity_id", post);
  json.string("action", "created");
  json.number("timestamp", unix_seconds);
  json.string("feed_url", "https://example.org/feed.xml");
  json.string("guid", "note-1");
  json.number("rev", 1);
  json.begin_object("data");
  json.string("title", "The lamp is out");
  json.string("link", "https://example.org/notes/1");
  json.string("author", "Ada");
  json.number("timestamp", unix_seconds);
  json.end_object();
  json.boolean("test", true);
  json.end_object();
  return json.take();
}

}  // namespace

std::string webhook_signature(const WebhookMessage& message, std::span<const std::string> secrets) {
  const std::string content = message.id + "." + std::to_string(message.timestamp) + "." + message.body;
  std::string signatures;
  for (const std::string& secret : secrets) {
    const std::string signature = signature_by(secret, content);
    if (signature.empty()) continue;
    if (!signatures.empty()) signatures += ' ';
    signatures += signature;
  }
  return signatures;
}

std::vector<std::string> webhook_headers(const WebhookMessage& message, std::span<const std::string> secrets) {
  return {"Content-Type: application/json", "webhook-id: " + message.id,
          "webhook-timestamp: " + std::to_string(message.timestamp),
          "webhook-signature: " + webhook_signature(message, secrets)};
}

std::string webhook_body(std::string_view type, std::int64_t unix_seconds, std::string_view data) {
  JsonWriter json;
  json.begin_object();
  json.string("type", type);
  json.string("timestamp", iso8601(Time(std::chrono::seconds(unix_seconds))));
  json.raw("data", data);
  json.end_object();
  return json.take();
}

std::string missed_body(std::int64_t unix_seconds, std::string_view after, std::string_view oldest) {
  JsonWriter json;
  json.begin_object();
  json.string("after", after);
  json.string("oldest", oldest);
  json.end_object();
  return webhook_body(events_missed, unix_seconds, json.take());
}

WebhookMessage sample_message(std::int64_t unix_seconds) {
  return {"test_" + random_token(), unix_seconds, webhook_body(sample_type, unix_seconds, sample_event(unix_seconds))};
}

}  // namespace feedmill
