#include "storage/queues/subscribers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/tokens.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::string_view group = "push_out";
constexpr std::size_t most_gone = 10'000;  // also in storage/lua/shared/push_out.lua

template <class Number>
Number number_in(const Fields& fields, std::string_view name) {
  return leading_number<Number>(value_of(fields, name));
}

Milliseconds time_in(const Fields& fields, std::string_view name) {
  return Milliseconds(number_in<std::int64_t>(fields, name));
}

std::string text_in(const Fields& fields, std::string_view name) {
  return std::string(value_of(fields, name));
}

std::optional<Subscriber> read_subscriber(std::string_view id, const Fields& fields) {
  if (find_field(fields, "kind") == nullptr) return {};
  Subscriber read;
  read.id = id;
  read.kind = value_of(fields, "kind") == "webhook" ? Subscriber::Kind::webhook : Subscriber::Kind::hub;
  const std::string_view state = value_of(fields, "state");
  read.state = state == "pending"     ? Subscriber::State::pending
               : state == "suspended" ? Subscriber::State::suspended
                                      : Subscriber::State::active;
  read.url = text_in(fields, "url");
  read.created = time_in(fields, "created");
  read.name = text_in(fields, "name");
  read.filter = read_filter(value_of(fields, "filter"));
  read.with_private = value_of(fields, "private") == "1";
  read.secret = text_in(fields, "secret");
  read.old_secret = text_in(fields, "old_secret");
  read.old_until = time_in(fields, "old_until");
  read.at_once = std::max(1U, number_in<std::uint32_t>(fields, "at_once"));
  read.topic.kind = value_of(fields, "topic_kind") == "channel" ? TopicKind::channel : TopicKind::feed;
  read.topic.name = text_in(fields, "topic_name");
  read.topic_url = text_in(fields, "topic_url");
  read.site = text_in(fields, "site");
  read.address = text_in(fields, "address");
  read.lease_end = time_in(fields, "lease_end");
  read.intent = {text_in(fields, "want_mode"), text_in(fields, "want_secret"), time_in(fields, "want_lease"),
                 text_in(fields, "want_reason"), number_in<std::uint32_t>(fields, "want_tries")};
  read.cursor = text_in(fields, "cursor");
  read.failures = number_in<std::uint32_t>(fields, "failures");
  read.failing_since = time_in(fields, "failing_since");
  read.retry_at = time_in(fields, "retry_at");
  read.last_success = time_in(fields, "last_success");
  read.last_error = text_in(fields, "last_error");
  read.delivered = number_in<std::uint64_t>(fields, "delivered");
  read.withheld = number_in<std::uint64_t>(fields, "withheld");
  return read;
}

/// A webhook's settings.
Fields settings_of(const Subscriber& webhook) {
  return {{"url", webhook.url},
          {"name", webhook.name},
          {"filter", to_json(webhook.filter)},
          {"private", webhook.with_private ? "1" : "0"},
          {"at_once", std::to_string(webhook.at_once)}};
}

Fields intent_fields(const Subscriber::Intent& intent) {
  return {{"want_mode", intent.mode},
          {"want_secret", intent.secret},
          {"want_lease", std::to_string(intent.lease.count())},
          {"want_reason", intent.reason},
          {"want_tries", "0"}};
}

/// Runs push_out_put and returns its result.
StoreResult<AskedOfHub> write(Store::Impl& impl, std::string_view op, const std::string& id, Fields fields,
                              const SubscriberBounds& bounds, Milliseconds old_for) {
  Args args;
  args.add(op);
  args.add(std::string_view(id));
  for (const std::size_t most : {most_subscribers, bounds.of_site, bounds.unverified, bounds.unverified_of_site})
    args.add(most);
  args.add(old_for);
  args.own_all(std::move(fields));
  const auto reply = impl.run(Script::push_out_put, args);
  if (!reply) return reply.error();
  constexpr std::array words{AskedOfHub::Is::nothing, AskedOfHub::Is::taken, AskedOfHub::Is::too_many,
                             AskedOfHub::Is::of_site, AskedOfHub::Is::not_verified};
  const auto said = static_cast<std::size_t>(reply->integer());
  if (said >= words.size()) return StoreError{StoreError::Code::bug, "push_out_put returned an unknown answer"};
  return AskedOfHub{words[said]};
}

StoreResult<bool> put(Store::Impl& impl, std::string_view op, const std::string& id, Fields fields,
                      Milliseconds old_for = {}) {
  const auto written = write(impl, op, id, std::move(fields), {}, old_for);
  if (!written) return written.error();
  return static_cast<bool>(*written);
}

/// Reads the fields of a record that the engine needs.
std::optional<SubscriberChanges::Row> read_change(const std::string& id, const ReplyView& reply) {
  if (reply[0].is_nil()) return {};
  SubscriberChanges::Row row;
  row.id = id;
  row.kind = reply[0].text() == "webhook" ? Subscriber::Kind::webhook : Subscriber::Kind::hub;
  if (row.kind == Subscriber::Kind::webhook) {
    row.filter = read_filter(reply[1].is_nil() ? std::string_view() : reply[1].text());
    row.with_private = !reply[2].is_nil() && reply[2].text() == "1";
    return row;
  }
  const std::string name(reply[4].is_nil() ? std::string_view() : reply[4].text());
  (reply[3].text() == "channel" ? row.filter.channels : row.filter.feeds).push_back(name);
  row.filter.types = {"post_created", "post_modified"};
  return row;
}

std::string_view word(SubscriberSettlement::Then then) {
  constexpr std::array<std::string_view, 5> words{"hold", "idle", "later", "suspend", "remove"};
  return words[static_cast<std::size_t>(then)];
}

}  // namespace

std::vector<std::string> secrets_in_use(const Subscriber& webhook, Milliseconds now) {
  std::vector<std::string> secrets{webhook.secret};
  if (!webhook.old_secret.empty() && now < webhook.old_until) secrets.push_back(webhook.old_secret);
  return secrets;
}

std::string_view to_string(Subscriber::Kind kind) {
  return kind == Subscriber::Kind::webhook ? "webhook" : "hub";
}

std::string_view to_string(Subscriber::State state) {
  constexpr std::array<std::string_view, 3> words{"pending", "active", "suspended"};
  return words[static_cast<std::size_t>(state)];
}

StoreResult<std::string> Subscribers::add(const Subscriber& webhook) {
  std::string id = "wh_" + random_token();
  Fields fields = settings_of(webhook);
  fields.insert(fields.end(), {{"kind", "webhook"}, {"state", "active"}, {"secret", webhook.secret}});
  const auto added = put(impl_, "add", id, std::move(fields));
  if (!added) return added.error();
  if (!*added) return StoreError{StoreError::Code::unsupported, "there are 100,000 subscribers already"};
  return id;
}

StoreResult<bool> Subscribers::edit(const Subscriber& webhook, const Subscriber& was) {
  Fields fields = settings_of(webhook);
  std::string known;
  for (const auto& [name, value] : settings_of(was)) known += value + '\n';
  fields.emplace_back("was", std::move(known));
  return put(impl_, "edit", webhook.id, std::move(fields));
}

StoreResult<bool> Subscribers::rotate(const std::string& id, const std::string& secret, Milliseconds old_for) {
  return put(impl_, "rotate", id, {{"secret", secret}}, old_for);
}

StoreResult<bool> Subscribers::resume(const std::string& id) {
  return put(impl_, "resume", id, {});
}

StoreResult<bool> Subscribers::remove(const std::string& id) {
  Args args;
  args.add(std::string_view(id));
  const auto reply = impl_.run(Script::push_out_remove, args);
  if (!reply) return reply.error();
  return reply->integer() == 1;
}

StoreResult<std::optional<Subscriber>> Subscribers::get(const std::string& id) {
  const std::string key = impl_.keys.subscriber(id), due = impl_.keys.subscribers_due();
  const std::vector<Words> commands{{"HGETALL", key}, {"ZSCORE", due, id}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  auto subscriber = read_subscriber(id, (*replies)[0].pairs());
  if (subscriber && !(*replies)[1].is_nil())
    subscriber->due = Milliseconds(leading_number<std::int64_t>((*replies)[1].text()));
  return subscriber;
}

StoreResult<std::vector<Subscriber>> Subscribers::list(Subscriber::Kind kind, const std::string& after,
                                                       std::size_t limit) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string beginning = kind == Subscriber::Kind::webhook ? "wh_" : "hub_";
  const std::string key = impl_.keys.subscribers(), count = std::to_string(limit), end = "[" + beginning + "~";
  const std::string from = after.empty() ? "[" + beginning : "(" + after;
  const auto ids = impl_.redis.command({"ZRANGE", key, from, end, "BYLEX", "LIMIT", "0", count});
  if (!ids) return ids.error();
  const std::string due = impl_.keys.subscribers_due();
  std::vector<std::string> names, keys;
  names.reserve(ids->size());
  keys.reserve(ids->size());
  std::vector<Words> commands;
  for (std::size_t i = 0; i < ids->size(); ++i) {
    names.emplace_back((*ids)[i].text());
    commands.push_back({"HGETALL", keys.emplace_back(impl_.keys.subscriber(names.back()))});
    commands.push_back({"ZSCORE", due, names.back()});
  }
  std::vector<Subscriber> all;
  if (commands.empty()) return all;
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto subscriber = read_subscriber(names[i], (*replies)[2 * i].pairs());
    if (!subscriber) continue;  // removed concurrently
    if (const Reply& at = (*replies)[2 * i + 1]; !at.is_nil())
      subscriber->due = Milliseconds(leading_number<std::int64_t>(at.text()));
    all.push_back(std::move(*subscriber));
  }
  return all;
}

StoreResult<SubscriberCounts> Subscribers::counts() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string states = impl_.keys.subscriber_states(), due = impl_.keys.subscribers_due();
  const auto numbers =
      impl_.redis.command({"HMGET", states, "webhook:active", "webhook:suspended", "hub:pending", "hub:active"});
  if (!numbers) return numbers.error();
  SubscriberCounts counts;
  const std::array<std::uint64_t*, 4> into{&counts.webhooks_active, &counts.webhooks_suspended, &counts.hub_pending,
                                           &counts.hub_active};
  for (std::size_t i = 0; i < into.size(); ++i) {
    const ReplyView value = (*numbers)[i];
    *into[i] = value.is_nil() ? 0 : leading_number<std::uint64_t>(value.text());
  }
  if (!counts.any()) {
    counts.due = 0;
    return counts;
  }
  const auto waiting = impl_.redis.command({"ZCARD", due});
  // Read-only users may not read this key (SECURITY §10).
  if (!waiting && waiting.error().code == StoreError::Code::auth) return counts;
  if (!waiting) return waiting.error();
  counts.due = static_cast<std::uint64_t>(waiting->integer());
  return counts;
}

StoreResult<AskedOfHub> Subscribers::ask(const Subscriber& subscriber, const SubscriberBounds& bounds) {
  const std::string id = "hub_" + token_of(subscriber.topic_url + "\n" + subscriber.url);
  Fields fields = intent_fields(subscriber.intent);
  fields.insert(fields.end(), {{"kind", "hub"},
                               {"state", "pending"},
                               {"url", subscriber.url},
                               {"topic_kind", std::string(to_string(subscriber.topic.kind))},
                               {"topic_name", subscriber.topic.name},
                               {"topic_url", subscriber.topic_url}});
  if (!subscriber.site.empty()) fields.emplace_back("site", subscriber.site);
  return write(impl_, "ask", id, std::move(fields), bounds, {});
}

StoreResult<bool> Subscribers::has_active(const std::string& site) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto count = impl_.redis.command({"HGET", impl_.keys.subscriber_sites(), "active " + site});
  if (!count) return count.error();
  return !count->is_nil();
}

StoreResult<std::string> Subscribers::deny(const Topic& topic, const std::string& after, std::size_t most) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.subscribers_of(to_string(topic.kind), topic.name);
  const std::string from = after.empty() ? "-" : "(" + after, count = std::to_string(most);
  const auto ids = impl_.redis.command({"ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", count});
  if (!ids) return ids.error();
  std::string last;
  for (std::size_t i = 0; i < ids->size(); ++i) {
    last = (*ids)[i].text();
    auto denied = put(impl_, "ask", last, intent_fields({"denied", "", {}, "the topic was removed", 0}));
    if (!denied) return denied.error();
  }
  return ids->size() < most ? std::string() : last;
}

StoreResult<bool> Subscribers::lead(const std::string& token, Milliseconds ttl) {
  return impl_.hold_lock("push_out", token, ttl);
}

StoreResult<bool> Subscribers::is_led() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto held = impl_.redis.command({"EXISTS", impl_.keys.lock("push_out")});
  if (!held) return held.error();
  return held->integer() == 1;
}

StoreResult<std::string> Subscribers::begin_leading() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto made = impl_.redis.command({"XGROUP", "CREATE", impl_.keys.signals(), group, "$", "MKSTREAM"});
  if (!made && !made.error().detail.starts_with("BUSYGROUP")) return made.error();
  const auto mark = impl_.redis.command({"GET", impl_.keys.delivered("push_out")});
  if (!mark) return mark.error();
  return mark->is_nil() ? std::string() : std::string(mark->text());
}

StoreResult<SubscriberChanges> Subscribers::changes(std::uint64_t after, std::size_t most) {
  const std::string from = "(" + std::to_string(after), count = std::to_string(most);
  const std::string changes = impl_.keys.subscriber_changes(), gone = impl_.keys.subscribers_gone();
  const std::vector<Words> commands{{"ZRANGE", changes, from, "+inf", "BYSCORE", "LIMIT", "0", count, "WITHSCORES"},
                                    {"ZRANGE", gone, from, "+inf", "BYSCORE", "LIMIT", "0", count, "WITHSCORES"},
                                    {"ZCARD", gone},
                                    {"ZRANGE", gone, "0", "0", "WITHSCORES"}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  SubscriberChanges all;
  all.number = after;
  const bool forgotten = static_cast<std::size_t>((*replies)[2].integer()) >= most_gone;
  const std::uint64_t oldest = (*replies)[3].size() < 2 ? 0 : leading_number<std::uint64_t>((*replies)[3][1].text());
  all.anew = after > 0 && forgotten && after < oldest;
  // If one list is incomplete, use the other only up to the same number.
  std::uint64_t up_to = UINT64_MAX;
  for (std::size_t list = 0; list < 2; ++list) {
    const Reply& rows = (*replies)[list];
    if (rows.size() < 2 * most) continue;
    up_to = std::min(up_to, leading_number<std::uint64_t>(rows[rows.size() - 1].text()));
    all.more = true;
  }
  std::vector<std::string> ids, keys;
  for (std::size_t list = 0; list < 2; ++list) {
    const Reply& rows = (*replies)[list];
    for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
      const auto number = leading_number<std::uint64_t>(rows[i + 1].text());
      if (number > up_to) break;
      all.number = std::max(all.number, number);
      (list == 0 ? ids : all.gone).emplace_back(rows[i].text());
    }
  }
  if (ids.empty()) return all;
  keys.reserve(ids.size());
  std::vector<Words> reads;
  reads.reserve(ids.size());
  for (const std::string& id : ids) {
    reads.push_back({"HMGET", keys.emplace_back(impl_.keys.subscriber(id)), "kind", "filter", "private", "topic_kind",
                     "topic_name"});
  }
  const auto records = impl_.pipeline(reads);
  if (!records) return records.error();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (auto row = read_change(ids[i], (*records)[i])) all.changed.push_back(std::move(*row));
  }
  return all;
}

StoreResult<bool> Subscribers::wake(const std::string& token, std::span<const Concerned> concerned,
                                    const std::string& mark, bool is_last) {
  Args args;
  args.add(std::string_view(token));
  args.add(group);
  args.add(std::string_view(mark));
  args.add(std::string_view(is_last ? "1" : ""));
  for (const Concerned& one : concerned) {
    args.add(std::string_view(one.id));
    args.add(std::string_view(one.before));
    args.add(one.withheld);
  }
  const auto reply = impl_.run(Script::push_out_wake, args);
  if (!reply) return reply.error();
  return reply->integer() == 1;
}

StoreResult<TakenSubscribers> Subscribers::take(std::size_t most, Milliseconds lease, const std::string& token) {
  TakenSubscribers taken;
  taken.claim = token + ":" + random_token();
  Args args;
  args.add(most);
  args.add(lease);
  args.add(std::string_view(taken.claim));
  const auto reply = impl_.run(Script::push_out_take, args);
  if (!reply) return reply.error();
  taken.now = milliseconds((*reply)[0]);
  taken.next = milliseconds((*reply)[1]);
  for (std::size_t i = 2; i + 1 < reply->size(); i += 2) {
    auto subscriber = read_subscriber((*reply)[i].text(), (*reply)[i + 1].pairs());
    if (subscriber) taken.subscribers.push_back(std::move(*subscriber));
  }
  return taken;
}

StoreResult<std::vector<bool>> Subscribers::settle(std::span<const SubscriberSettlement> settlements,
                                                   Milliseconds lease) {
  Args args;
  args.add(lease);
  for (const SubscriberSettlement& one : settlements) {
    args.add(std::string_view(one.id));
    args.add(std::string_view(one.claim));
    args.add(std::string_view(one.cursor));
    args.add(word(one.then));
    args.add(one.delay);
    args.add(one.fields);
  }
  const auto reply = impl_.run(Script::push_out_settle, args);
  if (!reply) return reply.error();
  std::vector<bool> held;
  for (std::size_t i = 0; i < reply->size(); ++i) held.push_back((*reply)[i].integer() == 1);
  if (held.size() != settlements.size())
    return StoreError{StoreError::Code::bug, "push_out_settle answered too little"};
  return held;
}

StoreResult<std::size_t> Subscribers::expire(std::size_t most) {
  const auto now = impl_.now_text();
  if (!now) return now.error();
  const std::string leases = impl_.keys.subscriber_leases(), due = impl_.keys.subscribers_due();
  const std::string count = std::to_string(most);
  const auto ended = impl_.redis.command({"ZRANGE", leases, "-inf", *now, "BYSCORE", "LIMIT", "0", count});
  if (!ended) return ended.error();
  std::vector<Words> commands;
  for (std::size_t i = 0; i < ended->size(); ++i) {
    commands.push_back({"ZADD", due, "NX", *now, (*ended)[i].text()});
    commands.push_back({"ZREM", leases, (*ended)[i].text()});
  }
  if (commands.empty()) return std::size_t{0};
  const auto made = impl_.pipeline(commands);
  if (!made) return made.error();
  return ended->size();
}

}  // namespace feedmill
