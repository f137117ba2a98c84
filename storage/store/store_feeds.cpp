// Feeds: registering, removing, looking at, waking; workers and the figures of the fleet.
#include <algorithm>
#include <charconv>

#include "storage/records/find_field.hpp"
#include "storage/records/signals.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/channels.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t batch_size = 500;                            // feeds per script call
constexpr Milliseconds signals_kept = std::chrono::hours(24 * 7);  // RELIABILITY L13

Wake::Result wake_result(std::string_view word) {
  if (word == "due") return Wake::Result::due;
  if (word == "noted") return Wake::Result::noted;
  if (word == "paused") return Wake::Result::paused;
  return word == "too_early" ? Wake::Result::too_early : Wake::Result::unknown;
}

Resumed::Result resume_result(std::string_view word) {
  if (word == "resumed") return Resumed::Result::resumed;
  return word == "running" ? Resumed::Result::running : Resumed::Result::unknown;
}

template <class Value>
std::string number_or_usual(const std::optional<Value>& value) {
  if (!value) return "-";
  if constexpr (std::is_same_v<Value, Milliseconds>)
    return std::to_string(value->count());
  else
    return std::to_string(*value);
}

}  // namespace

std::string_view forbidden_ending(std::string_view feed_url) {
  for (const std::string_view ending : feed_key_endings) {
    if (feed_url.ends_with(ending)) return ending;
  }
  return {};
}

StoreResult<std::vector<bool>> Store::add_feeds(std::span<const NewFeed> feeds) {
  std::vector<bool> added;
  added.reserve(feeds.size());
  while (!feeds.empty()) {
    const auto batch = feeds.first(std::min(batch_size, feeds.size()));
    Args args;
    for (const NewFeed& feed : batch) {
      args.add(std::string_view(feed.feed_url));
      args.add(feed.after);
      args.add(std::string_view(feed.settings));
      args.add(std::string_view(feed.title));
    }
    const auto reply = impl_->run(Script::add, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if ((*reply)[i].integer() >= 0) {
        added.push_back((*reply)[i].integer() == 1);
        continue;
      }
      // A removal that was interrupted stands in the way: finish it, then register the feed.
      if (const auto removed = take_away(batch[i].feed_url, "resume"); !removed) return removed.error();
      const auto one = add_feeds(batch.subspan(i, 1));
      if (!one) return one.error();
      added.push_back(one->front());
    }
    feeds = feeds.subspan(batch.size());
  }
  return added;
}

StoreResult<bool> Store::take_away(const std::string& feed_url, std::string_view first) {
  constexpr std::int64_t unknown = 0, gone = 2, in_channels = 3;
  const auto step = [&](std::string_view which) -> StoreResult<std::int64_t> {
    Args args;
    args.add(std::string_view(feed_url));
    args.own(json_string(feed_url));
    args.add(impl_->options.signals_max_len);
    args.add(which);
    const auto reply = impl_->run(Script::remove, args);
    if (!reply) return reply.error();
    return reply->integer();
  };
  const auto begun = step(first);
  if (!begun) return begun.error();
  if (first == "resume" && *begun == unknown) return false;  // a feed again: it stays in its channels
  // Out of the channels while its posts can still be told from others'.
  if (const auto forgotten = Channels(*this).forget_feed(feed_url); !forgotten) return forgotten.error();
  if (*begun == unknown) return false;
  for (;;) {
    const auto done = step("go on");
    if (!done) return done.error();
    if (*done == gone || *done == unknown) return true;  // unknown: somebody else has finished it meanwhile
    test_point("S15");
    if (*done != in_channels) continue;
    if (const auto forgotten = Channels(*this).forget_feed(feed_url); !forgotten) return forgotten.error();
  }
}

StoreResult<std::size_t> Store::finish_removals() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto begun = impl_->redis.command({"SMEMBERS", impl_->keys.removals()});
  if (!begun) return begun.error();
  std::size_t finished = 0;
  for (const std::string& feed_url : begun->texts()) {
    const auto removed = take_away(feed_url, "resume");
    if (!removed) return removed.error();
    if (*removed) ++finished;
  }
  return finished;
}

StoreResult<bool> Store::is_registered(const std::string& feed_url) {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto found = impl_->redis.command({"SISMEMBER", impl_->keys.feeds(), feed_url});
  if (!found) return found.error();
  return found->integer() == 1;
}

StoreResult<std::vector<std::string>> Store::feeds() {
  if (auto connected = impl_->ready(); !connected) return connected.error();
  const auto reply = impl_->redis.command({"SMEMBERS", impl_->keys.feeds()});
  if (!reply) return reply.error();
  std::vector<std::string> urls = reply->texts();
  std::sort(urls.begin(), urls.end());
  return urls;
}

void Store::set_signals_max_len(std::uint64_t records) {
  impl_->options.signals_max_len = records;
}

StoreResult<std::vector<std::optional<FeedRecord>>> Store::feed_records(std::span<const std::string> feed_urls) {
  std::vector<std::optional<FeedRecord>> records;
  records.reserve(feed_urls.size());
  const Keys& keys = impl_->keys;
  const std::string feeds_key = keys.feeds(), schedule_key = keys.schedule();
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(batch_size, feed_urls.size()));
    std::vector<std::string> names;
    names.reserve(batch.size() * 3);
    std::vector<Words> commands;
    for (const std::string& url : batch) {
      commands.push_back({"SISMEMBER", feeds_key, url});
      commands.push_back({"HGETALL", names.emplace_back(keys.feed_state(url))});
      commands.push_back({"HGETALL", names.emplace_back(keys.feed(url))});
      commands.push_back({"ZSCORE", schedule_key, url});
      commands.push_back({"ZCARD", names.emplace_back(keys.sort(url))});
    }
    const auto replies = impl_->pipeline(commands);
    if (!replies) return replies.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Reply* row = replies->data() + i * 5;
      if (row[0].integer() == 0) {
        records.emplace_back();
        continue;
      }
      const Fields state = row[1].pairs();
      FeedRecord& record = records.emplace_back(FeedRecord()).value();
      record.feed_url = batch[i];
      record.state = read_state(state);
      if (const std::string* claim = find_field(state, "claim")) record.claim = *claim;
      record.feed = row[2].pairs();
      if (!row[3].is_nil()) record.due = Milliseconds(row[3].integer());
      record.entries = static_cast<std::uint64_t>(row[4].integer());
      if (const std::string* bytes = find_field(state, "bytes")) {
        std::from_chars(bytes->data(), bytes->data() + bytes->size(), record.bytes);
      }
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return records;
}

StoreResult<std::vector<Wake>> Store::wake(std::span<const std::string> feed_urls, Milliseconds floor, bool force) {
  std::vector<Wake> answers;
  answers.reserve(feed_urls.size());
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(batch_size, feed_urls.size()));
    Args args;
    args.add(floor);
    args.add(force ? 1 : 0);
    for (const std::string& url : batch) args.add(std::string_view(url));
    const auto reply = impl_->run(Script::wake, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      answers.push_back({wake_result((*reply)[i][0].text()), Milliseconds((*reply)[i][1].integer())});
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return answers;
}

StoreResult<std::vector<Paused>> Store::pause(std::span<const std::string> feed_urls) {
  std::vector<Paused> answers;
  answers.reserve(feed_urls.size());
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(batch_size, feed_urls.size()));
    Args args;
    for (const std::string& url : batch) args.add(std::string_view(url));
    const auto reply = impl_->run(Script::pause, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t answer = (*reply)[i].integer();
      answers.push_back(answer == 1 ? Paused::paused : answer == 0 ? Paused::already : Paused::unknown);
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return answers;
}

StoreResult<std::vector<Resumed>> Store::resume(std::span<const ResumedFeed> feeds, Milliseconds floor) {
  std::vector<Resumed> answers;
  answers.reserve(feeds.size());
  while (!feeds.empty()) {
    const auto batch = feeds.first(std::min(batch_size, feeds.size()));
    Args args;
    args.add(floor);
    for (const ResumedFeed& feed : batch) {
      args.add(std::string_view(feed.feed_url));
      args.add(feed.after);
    }
    const auto reply = impl_->run(Script::resume, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      answers.push_back({resume_result((*reply)[i][0].text()), Milliseconds((*reply)[i][1].integer())});
    }
    feeds = feeds.subspan(batch.size());
  }
  return answers;
}

StoreResult<SettingsChange> Store::change_settings(const std::string& feed_url, const std::string& before,
                                                   const std::string& settings) {
  Args args;
  for (const std::string* text : {&feed_url, &before, &settings}) args.add(std::string_view(*text));
  const auto reply = impl_->run(Script::settings, args);
  if (!reply) return reply.error();
  if (reply->integer() == 1) return SettingsChange::done;
  return reply->integer() == 0 ? SettingsChange::outdated : SettingsChange::unknown;
}

StoreResult<void> Store::set_hosts(std::span<const HostSettings> hosts) {
  Args args;
  for (const HostSettings& host : hosts) {
    args.add(std::string_view(host.host));
    args.own(number_or_usual(host.concurrency) + " " + number_or_usual(host.spacing) + " " +
             number_or_usual(host.min_interval) + " " + host.group);
  }
  const auto reply = impl_->run(Script::hosts, args);
  if (!reply) return reply.error();
  return {};
}

StoreResult<void> Store::heartbeat(const std::string& worker, const Fields& fields, Milliseconds ttl) {
  const auto time = now();
  if (!time) return time.error();
  const std::string key = impl_->keys.worker(worker), all = impl_->keys.workers();
  const std::string expiry = std::to_string((*time + ttl).count()), ttl_text = std::to_string(ttl.count());
  const std::string now_text = std::to_string(time->count());
  std::vector<Words> commands{{"HSET", key, "alive_at", now_text},
                              {"PEXPIRE", key, ttl_text, "NX"},  // a claim's answer may be kept longer
                              {"PEXPIRE", key, ttl_text, "GT"},
                              {"ZADD", all, expiry, worker},
                              {"ZREMRANGEBYSCORE", all, "-inf", now_text},
                              {"PEXPIRE", all, ttl_text}};
  for (const auto& [name, value] : fields) {
    commands[0].push_back(name);
    commands[0].push_back(value);
  }
  const auto replies = impl_->pipeline(commands);
  if (!replies) return replies.error();
  return {};
}

StoreResult<void> Store::retire(const std::string& worker) {
  const std::string key = impl_->keys.worker(worker), all = impl_->keys.workers();
  const std::vector<Words> commands{{"DEL", key}, {"ZREM", all, worker}};
  const auto replies = impl_->pipeline(commands);
  if (!replies) return replies.error();
  return {};
}

StoreResult<FleetFigures> Store::figures() {
  FleetFigures figures;
  const auto time = now();
  if (!time) return time.error();
  figures.now = *time;
  const Keys& keys = impl_->keys;
  const std::string feeds = keys.feeds(), schedule = keys.schedule(), signals = keys.signals();
  const std::string states = keys.feed_states(), workers = keys.workers(), push_states = keys.push_states();
  const std::string now_text = std::to_string(time->count());
  const std::string closed_hosts = keys.closed_hosts();
  const std::vector<Words> commands{{"SCARD", feeds},
                                    {"ZCOUNT", schedule, "-inf", now_text},
                                    {"ZRANGE", schedule, "0", "0", "WITHSCORES"},
                                    {"XLEN", signals},
                                    {"HGETALL", states},
                                    {"ZRANGEBYSCORE", workers, now_text, "+inf"},
                                    {"HGETALL", push_states},
                                    {"ZCOUNT", closed_hosts, now_text, "+inf"}};
  const auto replies = impl_->pipeline(commands);
  if (!replies) return replies.error();
  const auto& row = *replies;
  figures.feeds = static_cast<std::uint64_t>(row[0].integer());
  figures.due = static_cast<std::uint64_t>(row[1].integer());
  if (row[2].size() == 2) figures.oldest_due = Milliseconds(row[2][1].integer());
  figures.stream_records = static_cast<std::uint64_t>(row[3].integer());
  const Reply& states_row = row[4];
  for (std::size_t i = 0; i + 1 < states_row.size(); i += 2) {
    figures.states.emplace_back(states_row[i].text(), std::max<std::int64_t>(states_row[i + 1].integer(), 0));
  }
  const Reply& push_row = row[6];
  for (std::size_t i = 0; i + 1 < push_row.size(); i += 2) {
    figures.push_states.emplace_back(push_row[i].text(), std::max<std::int64_t>(push_row[i + 1].integer(), 0));
  }
  const std::vector<std::string> alive = row[5].texts();
  figures.workers = alive.size();
  figures.closed_hosts = static_cast<std::uint64_t>(row[7].integer());

  std::vector<std::string> names;
  names.reserve(alive.size());
  std::vector<Words> heartbeats;
  heartbeats.reserve(alive.size());
  for (const std::string& worker : alive) {
    heartbeats.push_back({"HGET", names.emplace_back(keys.worker(worker)), "in_flight"});
  }
  const auto in_flight = impl_->pipeline(heartbeats);
  if (!in_flight) return in_flight.error();
  for (const Reply& reply : *in_flight) figures.claimed += static_cast<std::uint64_t>(reply.integer());
  return figures;
}

StoreResult<StreamFigures> Store::stream_figures() {
  const auto time = now();
  if (!time) return time.error();
  StreamFigures figures;
  figures.now = *time;
  figures.hard_limit = 2 * impl_->options.signals_max_len;
  const std::string key = impl_->keys.signals();
  const auto length = impl_->redis.command({"XLEN", key});
  if (!length) return length.error();
  figures.records = static_cast<std::uint64_t>(length->integer());
  if (figures.records == 0) {
    const auto type = impl_->redis.command({"TYPE", key});
    if (!type) return type.error();
    if (type->text() == "none") return figures;  // XINFO would fail
  }
  const auto groups = impl_->redis.command({"XINFO", "GROUPS", key});
  if (!groups) return groups.error();
  std::vector<std::string> after;
  std::vector<std::uint64_t> pending;
  for (std::size_t i = 0; i < groups->size(); ++i) {
    StreamFigures::Group& group = figures.groups.emplace_back();
    std::optional<std::uint64_t> behind;  // unknown to the server: at most the whole stream
    pending.push_back(0);
    after.emplace_back();
    const ReplyView row = (*groups)[i];
    for (std::size_t field = 0; field + 1 < row.size(); field += 2) {
      const std::string_view name = row[field].text();
      const ReplyView value = row[field + 1];
      if (name == "name")
        group.name = value.text();
      else if (name == "pending")
        pending.back() = static_cast<std::uint64_t>(value.integer());
      else if (name == "last-delivered-id")
        after.back() = "(" + std::string(value.text());
      else if (name == "lag" && !value.is_nil())
        behind = static_cast<std::uint64_t>(value.integer());
    }
    group.lag = behind.value_or(figures.records) + pending.back();
  }
  std::vector<Words> commands;
  for (std::size_t i = 0; i < figures.groups.size(); ++i) {
    commands.push_back({"XRANGE", key, after[i], "+", "COUNT", "1"});
    commands.push_back({"XPENDING", key, figures.groups[i].name});
  }
  const auto oldest = impl_->pipeline(commands);
  if (!oldest) return oldest.error();
  const auto time_of = [](const ReplyView& id) { return Milliseconds(id.integer()); };  // "<unix ms>-<number>"
  for (std::size_t i = 0; i < figures.groups.size(); ++i) {
    StreamFigures::Group& group = figures.groups[i];
    const ReplyView waiting = (*oldest)[2 * i], handed_out = (*oldest)[2 * i + 1];
    if (pending[i] > 0 && handed_out.size() > 1 && !handed_out[1].is_nil())
      group.oldest = time_of(handed_out[1]);
    else if (waiting.size() > 0)
      group.oldest = time_of(waiting[0][0]);
    else if (pending[i] == 0)
      group.lag = 0;
  }
  return figures;
}

StoreResult<StreamFigures> Store::trim_stream() {
  const auto time = now();
  if (!time) return time.error();
  StreamFigures figures;
  figures.now = *time;
  figures.hard_limit = 2 * impl_->options.signals_max_len;
  Args args;
  args.add(impl_->options.signals_max_len);
  args.add(*time - signals_kept);
  const auto reply = impl_->run(Script::groups, args);
  if (!reply) return reply.error();
  figures.records = static_cast<std::uint64_t>((*reply)[0].integer());
  for (std::size_t i = 1; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    StreamFigures::Group& group = figures.groups.emplace_back();
    group.name = row[0].text();
    group.lag = static_cast<std::uint64_t>(row[1].integer());
    if (!row[2].text().empty()) group.oldest = Milliseconds(row[2].integer());
  }
  return figures;
}

}  // namespace feedmill
