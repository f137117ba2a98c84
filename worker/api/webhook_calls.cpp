// Webhooks over HTTP. Calls change the store themselves: a secret does not stand in a stream of requests, which whoever
// reads the store reads (OPERATIONS A2, B4).
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "storage/push_out/subscribers.hpp"
#include "storage/requests/requests.hpp"
#include "worker/api/api.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/endpoints/sample.hpp"
#include "worker/endpoints/webhooks.hpp"
#include "worker/http/egress_view.hpp"
#include "worker/webhooks/secret.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::size_t calls_per_sample = 5;  // as which a request to a receiver counts

ApiReply no_such_webhook() {
  return problem("no_such_webhook", "no such webhook");
}

/// "id" of the call; the reply where it cannot be one.
std::optional<ApiReply> objection_to_id(const ApiCall& call) {
  if (is_webhook_id(call.get("id"))) return std::nullopt;
  return no_such_webhook();
}

/// Where nothing would ever be sent; names are not looked up, that is done at each request.
std::optional<ApiReply> objection_to_address(const std::string& url, const FetchOptions& fetching) {
  const EgressView view = EgressViewer(fetching).of_text({url, {}});
  if (view.verdict != EgressView::Verdict::refused) return std::nullopt;
  return problem("refused_address", visible(fmt::format("{}: {}", view.reason, view.detail)));
}

/// What a body says, put into `webhook`; what is wrong with it instead.
std::optional<ApiReply> take_body(const json::object& body, const FetchOptions& fetching, Subscriber& webhook) {
  WebhookSettings settings;
  bool unknown = false;
  std::string wrong = read_webhook(body, settings, unknown);
  if (unknown) return problem("unknown_field", visible(wrong));
  if (wrong.empty()) wrong = set_webhook(settings, webhook);
  if (!wrong.empty()) return problem("bad_value", visible(wrong));
  if (settings.url) return objection_to_address(webhook.url, fetching);
  return std::nullopt;
}

/// What of whom it is told of makes no sense; `notes` as an answer has them.
StoreResult<std::optional<ApiReply>> look_at_filter(Store& store, const Subscriber& webhook, json::array& notes) {
  const auto remarks = remarks_on(store, webhook);
  if (!remarks) return remarks.error();
  if (!remarks->unknown_feed.empty()) {
    return std::optional(problem("no_such_feed", visible(remarks->unknown_feed)));
  }
  for (const std::string& note : remarks->notes) notes.emplace_back(json::string(visible(note)));
  return std::optional<ApiReply>();
}

/// `webhook` as it is stored now, behind what was done with it.
StoreResult<ApiReply> told(Store& store, std::string_view result, const std::string& id, const json::object& more = {},
                           unsigned status = 200) {
  const auto webhook = Subscribers(store).get(id);
  if (!webhook) return webhook.error();
  if (!*webhook) return no_such_webhook();
  const auto now = store.now();
  if (!now) return now.error();
  json::object object{{"result", result}};
  for (const auto& [name, value] : webhook_json(**webhook, *now)) object[name] = value;
  for (const auto& [name, value] : more) object[name] = value;
  ApiReply reply = resource(object, status);
  if (status == 201) reply.headers.emplace_back("Location", fmt::format("{}/webhook?id={}", api_base, id));
  return reply;
}

json::object key_json(const std::string& secret) {
  const ReceiverKey key = receiver_key(secret);
  return {{key.name, key.value}};
}

}  // namespace

StoreResult<ApiReply> read_webhooks(const ApiReading& reading) {
  const std::size_t limit = limit_of(reading.call);
  if (limit == 0) return bad_limit();
  const std::string& after = reading.call.get("after");
  if (!after.empty() && !is_webhook_id(after))
    return problem("bad_parameter", "after: expected `next` of the previous page");
  const auto page = Subscribers(reading.store).list(Subscriber::Kind::webhook, after, limit);
  if (!page) return page.error();
  const auto now = reading.store.now();
  if (!now) return now.error();
  json::array webhooks;
  for (const Subscriber& webhook : *page) webhooks.emplace_back(webhook_json(webhook, *now));
  const json::value next = page->size() == limit ? json::value(json::string(page->back().id)) : json::value();
  return resource({{"webhooks", std::move(webhooks)}, {"next", next}});
}

StoreResult<ApiReply> read_webhook(const ApiReading& reading) {
  if (auto wrong = objection_to_id(reading.call)) return *wrong;
  const auto webhook = Subscribers(reading.store).get(reading.call.get("id"));
  if (!webhook) return webhook.error();
  if (!*webhook) return no_such_webhook();
  const auto now = reading.store.now();
  if (!now) return now.error();
  return resource(webhook_json(**webhook, *now));
}

StoreResult<ApiReply> add_webhook(const ApiChange& change) {
  json::object body = change.body;
  bool signs = false;
  if (const json::value* const signature = body.if_contains("signature")) {
    if (*signature != "v1" && *signature != "v1a") return problem("bad_value", "signature: v1 or v1a");
    signs = *signature == "v1a";
    body.erase("signature");
  }
  Subscriber webhook;
  if (auto wrong = take_body(body, change.fetching, webhook)) return *wrong;
  if (webhook.url.empty()) return problem("missing_field", "url: the URL that receives events");
  json::array notes;
  const auto wrong = look_at_filter(change.store, webhook, notes);
  if (!wrong) return wrong.error();
  if (*wrong) return **wrong;
  webhook.secret = signs ? new_signing_key() : new_shared_secret();
  const auto id = Subscribers(change.store).add(webhook);
  if (!id && id.error().code == StoreError::Code::unsupported) return problem("too_many", visible(id.error().detail));
  if (!id) return id.error();
  json::object more = key_json(webhook.secret);
  more["notes"] = std::move(notes);
  return told(change.store, "added", *id, more, 201);
}

StoreResult<ApiReply> set_webhook(const ApiChange& change) {
  if (auto wrong = objection_to_id(change.call)) return *wrong;
  const std::string& id = change.call.get("id");
  Subscribers subscribers(change.store);
  auto webhook = subscribers.get(id);
  if (!webhook) return webhook.error();
  if (!*webhook) return no_such_webhook();
  if (auto wrong = take_body(change.body, change.fetching, **webhook)) return *wrong;
  json::array notes;
  if (change.body.contains("feeds") || change.body.contains("channels") || change.body.contains("private")) {
    const auto wrong = look_at_filter(change.store, **webhook, notes);
    if (!wrong) return wrong.error();
    if (*wrong) return **wrong;
  }
  const auto done = subscribers.edit(**webhook);
  if (!done) return done.error();
  return *done ? told(change.store, "set", id, {{"notes", std::move(notes)}}) : no_such_webhook();
}

StoreResult<ApiReply> remove_webhook(const ApiChange& change) {
  if (auto wrong = objection_to_id(change.call)) return *wrong;
  if (!change.body.empty()) return problem("unknown_field", "a body has no members here");
  const std::string& id = change.call.get("id");
  const auto done = Subscribers(change.store).remove(id);
  if (!done) return done.error();
  return *done ? resource({{"result", "removed"}, {"id", id}}) : no_such_webhook();
}

StoreResult<ApiReply> rotate_webhook(const ApiChange& change) {
  if (auto wrong = objection_to_id(change.call)) return *wrong;
  Milliseconds old_for = usual_rotation;
  for (const auto& [name, value] : change.body) {
    if (name != "old_for") return problem("unknown_field", visible(std::string(name.substr(0, 100))));
    const auto wanted = value.is_string() ? read_duration(value.get_string()) : std::nullopt;
    if (!wanted || *wanted > longest_rotation)
      return problem("bad_value", "old_for: a duration such as 24h, at most 30d");
    old_for = *wanted;
  }
  const std::string& id = change.call.get("id");
  Subscribers subscribers(change.store);
  const auto webhook = subscribers.get(id);
  if (!webhook) return webhook.error();
  if (!*webhook) return no_such_webhook();
  const std::string secret = public_key_of((*webhook)->secret).empty() ? new_shared_secret() : new_signing_key();
  const auto done = subscribers.rotate(id, secret, old_for);
  if (!done) return done.error();
  return *done ? told(change.store, "rotated", id, key_json(secret)) : no_such_webhook();
}

StoreResult<ApiReply> resume_webhook(const ApiChange& change) {
  if (auto wrong = objection_to_id(change.call)) return *wrong;
  if (!change.body.empty()) return problem("unknown_field", "a body has no members here");
  const std::string& id = change.call.get("id");
  const auto done = Subscribers(change.store).resume(id);
  if (!done) return done.error();
  return *done ? told(change.store, "resumed", id) : no_such_webhook();
}

asio::awaitable<ApiReply> Api::test_webhook(const ApiCall& call, Visit& visit) {
  if (auto refused = co_await read_body(visit, longest_request)) co_return *refused;
  if (visit.gone()) co_return ApiReply();
  if (auto wrong = objection_to_id(call)) co_return *wrong;
  if (looking_.size() >= most_looks || looking_.contains(call.app)) {
    co_return problem("busy", "too many URLs are being tested");
  }
  const Looking looking(*this, call.app);
  Milliseconds now{};
  const auto look_up = [&](Store& store) -> StoreResult<std::optional<Subscriber>> {
    const auto time = store.now();
    if (!time) return time.error();
    now = *time;
    return Subscribers(store).get(call.get("id"));
  };
  auto webhook = co_await with_store(call.app, look_up);
  if (!webhook) co_return store_is_away(webhook.error());
  if (!*webhook) co_return no_such_webhook();
  Fetcher fetcher(executor_, looks_.fetching());
  const SampleAnswer answer = co_await send_sample(fetcher, std::move(**webhook), now, sample_patience_);
  charge(call.app, static_cast<std::int64_t>(calls_per_sample) * options_.call_time);
  json::object object{{"result", answer.taken() ? "taken" : "not_taken"}};
  for (const auto& [name, value] : sample_json(call.get("id"), answer)) object[name] = value;
  co_return resource(object);
}

}  // namespace feedmill
