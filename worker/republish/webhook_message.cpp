#include "worker/republish/webhook_message.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "parsers/text/date.hpp"
#include "parsers/text/json_writer.hpp"
#include "parsers/text/strings.hpp"
#include "storage/records/tokens.hpp"

namespace feedmill {
namespace {

constexpr std::string_view sample_type = "post_created";

/// A sample event with the members of every event (DESIGN §4), about a fictitious post; its id is not a key of the
/// store.
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

namespace {

constexpr std::string_view shared_prefix = "whsec_", signing_prefix = "whsk_", public_prefix = "whpk_";
constexpr std::size_t least_shared = 24, most_shared = 64;  // Standard Webhooks, "Signature scheme"
constexpr std::size_t seed_size = 32, public_size = 32, signature_size = 64;

/// Bytes that the destructor wipes.
struct Bytes : std::vector<unsigned char> {
  explicit Bytes(std::size_t size) : vector(size) {}
  Bytes(Bytes&&) = default;
  ~Bytes() { OPENSSL_cleanse(data(), size()); }
};

std::string base64(std::span<const unsigned char> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock appends a NUL
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// Empty if `text` is not padded base64 or is longer than any secret.
std::optional<Bytes> read_base64(std::string_view text) {
  constexpr std::size_t longest = 88;  // the length for 64 bytes
  if (text.empty() || text.size() > longest || text.size() % 4 != 0) return std::nullopt;
  const std::size_t end = text.find('=');
  const std::size_t padding = end == std::string_view::npos ? 0 : text.size() - end;
  const std::string_view digits = text.substr(0, text.size() - padding);
  const std::string_view tail = text.substr(text.size() - padding);
  if (padding > 2 || !has_only_alnum_and(digits, "+/") || tail != std::string_view("==").substr(0, padding)) {
    return std::nullopt;
  }
  Bytes bytes(text.size() / 4 * 3);
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::array<unsigned char, public_size> public_part(const EVP_PKEY* key) {
  std::array<unsigned char, public_size> bytes{};
  std::size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1) throw std::runtime_error("no ed25519 to be had");
  return bytes;
}

/// Parses "whsk_…"; null if it is invalid.
Key read_signing_key(std::string_view secret) {
  Key none(nullptr, EVP_PKEY_free);
  if (!secret.starts_with(signing_prefix)) return none;
  const auto bytes = read_base64(secret.substr(signing_prefix.size()));
  if (!bytes || (bytes->size() != seed_size && bytes->size() != seed_size + public_size)) return none;
  const std::span<const unsigned char> all(*bytes), seed = all.first(seed_size), written = all.subspan(seed_size);
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()), EVP_PKEY_free);
  if (!key) throw std::runtime_error("no ed25519 to be had");
  if (!written.empty() && !std::ranges::equal(written, public_part(key.get()))) return none;
  return key;
}

/// Parses "whsec_…"; empty if it is invalid.
std::optional<Bytes> read_shared(std::string_view secret) {
  if (!secret.starts_with(shared_prefix)) return std::nullopt;
  auto bytes = read_base64(secret.substr(shared_prefix.size()));
  if (!bytes || bytes->size() < least_shared || bytes->size() > most_shared) return std::nullopt;
  return bytes;
}

std::string with_random_bytes(std::string_view prefix) {
  Bytes bytes(seed_size);
  if (RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("no random numbers to be had");
  }
  return std::string(prefix) + base64(bytes);
}

std::string sign(EVP_PKEY* key, std::string_view content) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<unsigned char, signature_size> signature{};
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, reinterpret_cast<const unsigned char*>(content.data()),
                     content.size()) != 1) {
    throw std::runtime_error("no ed25519 to be had");
  }
  return "v1a," + base64(signature);
}

}  // namespace

std::string new_shared_secret() {
  return with_random_bytes(shared_prefix);
}

std::string new_signing_key() {
  return with_random_bytes(signing_prefix);
}

std::string public_key_of(std::string_view secret) {
  const Key key = read_signing_key(secret);
  return key ? std::string(public_prefix) + base64(public_part(key.get())) : std::string();
}

std::string signature_by(std::string_view secret, std::string_view content) {
  if (const Key key = read_signing_key(secret)) return sign(key.get(), content);
  const auto shared = read_shared(secret);
  if (!shared) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), shared->data(), static_cast<int>(shared->size()),
           reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data(), &size) == nullptr) {
    throw std::runtime_error("no HMAC-SHA256 to be had");
  }
  return "v1," + base64(std::span(digest).first(size));
}

}  // namespace feedmill
