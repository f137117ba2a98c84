#include "storage/feeds/feeds.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/queues/topics.hpp"
#include "storage/records/commit.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_change.hpp"
#include "storage/records/state_fields.hpp"
#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"
#include "storage/timelines/channels.hpp"

namespace feedmill {
namespace {

constexpr std::size_t batch_size = 500;       // feeds per call
constexpr std::size_t written_at_once = 100;  // feeds per call if each needs a dozen writes
/// An import without progress for this long counts as interrupted.
constexpr Milliseconds import_is_over = std::chrono::minutes(10);

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

}  // namespace

StoreResult<std::vector<bool>> Feeds::add(std::span<const NewFeed> feeds, const std::string& channel,
                                          std::uint32_t rate) {
  for (const NewFeed& feed : feeds) {
    if (const auto its = store_.elsewhere(feed.feed_url)) {
      return StoreError{StoreError::Code::refused, feed.feed_url + " is of partition " + std::to_string(*its)};
    }
  }
  std::vector<bool> added;
  added.reserve(feeds.size());
  while (!feeds.empty()) {
    const auto batch = feeds.first(std::min(written_at_once, feeds.size()));
    Args args;
    args.add(std::string_view(channel));
    args.add(rate);
    for (const NewFeed& feed : batch) {
      args.add(std::string_view(feed.feed_url));
      args.add(feed.after);
      args.add(std::string_view(feed.settings));
      args.own(feed.title ? "=" + *feed.title : "");
      args.add(feed.for_channels || !channel.empty() ? 1 : 0);
      args.add(feed.asked ? 1 : 0);
    }
    const auto reply = impl_.run(Script::add, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if ((*reply)[i].integer() >= 0) {
        added.push_back((*reply)[i].integer() == 1);
        continue;
      }
      // An interrupted removal blocks the feed: finish it, then register the feed.
      InParts whole;
      if (const auto removed = finish_removal(batch[i].feed_url, whole); !removed) return removed.error();
      const auto one = add(batch.subspan(i, 1), channel, rate);
      if (!one) return one.error();
      added.push_back(one->front());
    }
    feeds = feeds.subspan(batch.size());
  }
  return added;
}

StoreResult<bool> Feeds::remove(const std::string& feed_url) {
  InParts whole;
  return remove(feed_url, whole);
}

StoreResult<std::int64_t> Feeds::removal_step(const std::string& feed_url, std::string_view which,
                                              Milliseconds orphaned) {
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(std::string_view(feed_url));
  args.own(json_string(feed_url));
  args.own(impl_.options.stream_cap());
  args.add(which);
  args.add(orphaned);
  const auto reply = impl_.run(Script::remove, args);
  if (!reply) return reply.error();
  return reply->integer();
}

StoreResult<void> Feeds::remove_for_import(const std::string& feed_url, bool only_begun) {
  constexpr std::int64_t more = 1;
  auto done = removal_step(feed_url, only_begun ? "resume" : "begin", {});
  while (done && *done == more) {
    done = removal_step(feed_url, "go on", {});
    test_point("S15");
  }
  if (!done) return done.error();
  return {};
}

StoreResult<bool> Feeds::take_away(const std::string& feed_url, std::string_view first, InParts& parts,
                                   Milliseconds orphaned) {
  constexpr std::int64_t unknown = 0, gone = 2, in_channels = 3;
  const auto begun = removal_step(feed_url, first, orphaned);
  if (!begun) return begun.error();
  if (first != "begin" && *begun == unknown) return false;  // registered (again): it stays in its channels
  // Leave the channels while its posts can still be distinguished from other feeds'.
  if (const auto forgotten = Channels(store_).forget_feed(feed_url, parts); !forgotten) return forgotten.error();
  if (*begun == unknown) return false;
  if (const auto ended = Topics(impl_).end({TopicKind::feed, feed_url}); !ended) return ended.error();
  while (parts.may_go_on()) {
    const auto done = removal_step(feed_url, "go on", orphaned);
    if (!done) return done.error();
    if (*done == gone || *done == unknown) return true;  // unknown: finished concurrently
    test_point("S15");
    if (*done != in_channels) continue;
    if (const auto forgotten = Channels(store_).forget_feed(feed_url, parts); !forgotten) return forgotten.error();
  }
  return true;
}

StoreResult<std::size_t> Feeds::finish_removals() {
  std::size_t finished = 0;
  Args args;
  args.add(std::string_view("left"));
  args.add(import_is_over);
  impl_.run(Script::import_feed, args);  // a full Redis rejects it, but removals continue
  const std::string imports = impl_.keys.imports();
  const auto finish = [&](const std::vector<std::string>& page) -> StoreResult<bool> {
    for (const std::string& feed_url : page) {
      const auto import = impl_.redis.command({"ZSCORE", imports, feed_url});
      if (!import) return import.error();
      if (!import->is_nil()) continue;
      InParts whole;
      const auto removed = finish_removal(feed_url, whole);
      if (!removed) return removed.error();
      if (*removed) ++finished;
    }
    return true;
  };
  if (const auto all = impl_.each_page(impl_.keys.removals(), finish); !all) return all.error();
  return finished;
}

StoreResult<std::size_t> Feeds::look_after_orphans(Milliseconds after) {
  Args args;
  args.add(after);
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.own(impl_.options.stream_cap());
  const auto reply = impl_.run(Script::orphans, args);
  if (!reply) return reply.error();
  for (std::size_t i = 1; i < reply->size(); ++i) {
    InParts whole;
    const auto removed = take_away(std::string((*reply)[i].text()), "orphan", whole, after);
    if (!removed) return removed.error();
  }
  return static_cast<std::size_t>((*reply)[0].integer());
}

StoreResult<std::vector<std::string>> Feeds::volatile_parts(const std::string& feed_url) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"GET", impl_.keys.volatile_parts(feed_url)});
  if (!reply) return reply.error();
  return VolatileParts(reply->text()).parts();
}

StoreResult<std::size_t> Feeds::count_if(const std::function<bool(const std::string& feed_url)>& wanted) {
  constexpr int most_steps = 200;
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.feeds();
  std::size_t found = 0;
  std::string cursor = "0";
  for (int step = 0; step < most_steps; ++step) {
    const auto reply = impl_.redis.command({"SSCAN", key, cursor, "COUNT", "1000"});
    if (!reply) return reply.error();
    for (const std::string& url : (*reply)[1].texts()) {
      if (wanted(url)) ++found;
    }
    cursor = (*reply)[0].text();
    if (cursor == "0") return found;
  }
  return std::size_t{0};
}

StoreResult<bool> Feeds::is_registered(const std::string& feed_url) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto found = impl_.redis.command({"SISMEMBER", impl_.keys.feeds(), feed_url});
  if (!found) return found.error();
  return found->integer() == 1;
}

StoreResult<std::uint64_t> Feeds::count() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto count = impl_.redis.command({"SCARD", impl_.keys.feeds()});
  if (!count) return count.error();
  return static_cast<std::uint64_t>(count->integer());
}

StoreResult<bool> Feeds::is_indexed() {
  const std::string feeds = impl_.keys.feeds(), index = impl_.keys.feeds_by_url();
  const std::array<Words, 2> commands{Words{"SCARD", feeds}, Words{"ZCARD", index}};
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  return (*replies)[0].integer() == (*replies)[1].integer();
}

StoreResult<std::vector<std::string>> Feeds::urls_after(const std::string& after, std::size_t most) {
  const auto indexed = is_indexed();
  if (!indexed) return indexed.error();
  if (!*indexed) return impl_.members_after(impl_.keys.feeds(), after, most, "");
  const auto reply = impl_.redis.command({"ZRANGE", impl_.keys.feeds_by_url(), after.empty() ? "-" : "(" + after, "+",
                                          "BYLEX", "LIMIT", "0", std::to_string(most)});
  if (!reply) return reply.error();
  return reply->texts();
}

StoreResult<void> Feeds::index_step(IndexPlace& place) {
  Args args;
  args.add(std::string_view(place.phase));
  args.add(std::string_view(place.place));
  args.add(batch_size);
  const auto reply = impl_.run(Script::index_feeds, args);
  if (!reply) return reply.error();
  place.phase = (*reply)[0].text();
  place.place = (*reply)[1].text();
  return {};
}

StoreResult<std::vector<std::string>> FeedWalk::next() {
  constexpr std::size_t stretch = 20'000;  // without an index each call scans all feeds
  if (held_.empty()) {
    const auto indexed = feeds_.is_indexed();
    if (!indexed) return indexed.error();
    auto urls = feeds_.urls_after(after_, *indexed ? batch_size : stretch);
    if (!urls) return urls.error();
    held_ = std::move(*urls);
    if (!held_.empty()) after_ = held_.back();
    std::reverse(held_.begin(), held_.end());
  }
  std::vector<std::string> page;
  for (; !held_.empty() && page.size() < batch_size; held_.pop_back()) page.push_back(std::move(held_.back()));
  return page;
}

namespace {

/// Explains a missing permission: users created by earlier releases can read everything else about a feed.
StoreError lines_refused(const Keys& keys, const StoreError& error) {
  return {error.code, "its user may not read the lines that feeds wait in: grant %R~" + keys.lines() + " %R~" +
                          keys.line("*") +
                          " (ACL SETUSER; deploy/redis/users.acl has the whole line): " + error.detail};
}

}  // namespace

StoreResult<std::vector<std::optional<FeedRecord>>> Feeds::records(std::span<const std::string> feed_urls) {
  std::vector<std::optional<FeedRecord>> records;
  records.reserve(feed_urls.size());
  const Keys& keys = impl_.keys;
  const std::string feeds_key = keys.feeds(), schedule_key = keys.schedule(), lines_key = keys.lines(),
                    any_line = keys.line("");
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
    // Report missing access to the lines at once, not only when a feed waits in one (SECURITY A1).
    if (records.empty()) commands.push_back({"EXISTS", lines_key, any_line});
    std::vector<Reply> replies;
    for (StoreResult<Reply>& reply : impl_.pipeline_each(commands)) {
      if (!reply) {
        const bool of_lines = replies.size() == batch.size() * 5 && reply.error().code == StoreError::Code::auth;
        return of_lines ? lines_refused(keys, reply.error()) : reply.error();
      }
      replies.push_back(std::move(*reply));
    }
    const std::size_t first = records.size();
    std::vector<std::pair<std::size_t, std::string>> in_lines;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Reply* row = replies.data() + i * 5;
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
      if (!row[3].is_nil()) {
        record.due = Milliseconds(row[3].integer());
      } else if (const std::string* line = find_field(state, "line")) {
        in_lines.emplace_back(first + i, *line);
      }
      record.entries = static_cast<std::uint64_t>(row[4].integer());
      if (const std::string* bytes = find_field(state, "bytes")) record.bytes = leading_number<std::uint64_t>(*bytes);
    }
    if (const auto read = read_places(records, in_lines); !read) return read.error();
    feed_urls = feed_urls.subspan(batch.size());
  }
  return records;
}

/// Fills in the due time and the place in line of waiting feeds. `in_lines`: the index in `records` and the gate of
/// each.
StoreResult<void> Feeds::read_places(std::vector<std::optional<FeedRecord>>& records,
                                     const std::vector<std::pair<std::size_t, std::string>>& in_lines) {
  std::vector<std::string> names;
  names.reserve(in_lines.size() * 2);
  std::vector<Words> commands;
  const std::string lines = impl_.keys.lines();
  for (const auto& [at, gate] : in_lines) {
    commands.push_back({"ZSCORE", names.emplace_back(impl_.keys.line(gate)), records[at]->feed_url});
    commands.push_back({"ZSCORE", lines, gate});
  }
  if (commands.empty()) return {};
  const auto found = impl_.pipeline(commands);
  if (!found) return found.error();
  commands.clear();
  std::vector<FeedRecord*> waiting;
  for (std::size_t i = 0; i < in_lines.size(); ++i) {
    const Reply &due = (*found)[2 * i], &next_start = (*found)[2 * i + 1];
    if (due.is_nil()) continue;  // claimed just now
    FeedRecord& record = *records[in_lines[i].first];
    record.due = Milliseconds(due.integer());
    record.in_line = FeedRecord::InLine{.next_start = Milliseconds(next_start.integer())};
    waiting.push_back(&record);
    commands.push_back({"ZCOUNT", names[i], "-inf", names.emplace_back("(" + std::to_string(due.integer()))});
  }
  if (commands.empty()) return {};
  const auto counts = impl_.pipeline(commands);
  if (!counts) return counts.error();
  for (std::size_t i = 0; i < waiting.size(); ++i)
    waiting[i]->in_line->ahead = static_cast<std::uint64_t>((*counts)[i].integer());
  return {};
}

StoreResult<std::vector<std::optional<Milliseconds>>> Feeds::last_successes(std::span<const std::string> feed_urls) {
  std::vector<std::optional<Milliseconds>> successes;
  successes.reserve(feed_urls.size());
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(batch_size, feed_urls.size()));
    std::vector<std::string> names;
    names.reserve(batch.size());
    std::vector<Words> commands;
    for (const std::string& url : batch) {
      commands.push_back({"HMGET", names.emplace_back(impl_.keys.feed_state(url)), "state", "times"});
    }
    const auto replies = impl_.pipeline(commands);
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) {
      auto& success = successes.emplace_back();
      if (reply[0].text() != "healthy") continue;
      success = read_state({{"times", std::string(reply[1].text())}}).last.success;
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return successes;
}

StoreResult<std::vector<EntryCursor>> Feeds::in_state(const std::string& state, std::size_t limit,
                                                      const std::optional<EntryCursor>& before) {
  return impl_.newest(impl_.keys.feeds_in_state(state), limit, before);
}

StoreResult<std::vector<Fields>> Feeds::faces(std::span<const std::string> feed_urls) {
  static constexpr std::array<std::string_view, 6> names{"title", "title_type", "link", "image", "icon", "format"};
  std::vector<std::string> keys;
  keys.reserve(feed_urls.size());
  std::vector<Words> commands;
  for (const std::string& url : feed_urls) {
    Words& command = commands.emplace_back(Words{"HMGET", keys.emplace_back(impl_.keys.feed(url))});
    command.insert(command.end(), names.begin(), names.end());
  }
  const auto replies = impl_.pipeline(commands);
  if (!replies) return replies.error();
  std::vector<Fields> faces;
  for (const Reply& reply : *replies) {
    Fields& face = faces.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!reply[i].is_nil()) face.emplace_back(names[i], reply[i].text());
    }
  }
  return faces;
}

StoreResult<std::vector<Wake>> Feeds::wake(std::span<const std::string> feed_urls, Milliseconds floor, bool force) {
  std::vector<Wake> answers;
  answers.reserve(feed_urls.size());
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(written_at_once, feed_urls.size()));
    Args args;
    args.add(floor);
    args.add(force ? 1 : 0);
    for (const std::string& url : batch) args.add(std::string_view(url));
    const auto reply = impl_.run(Script::wake, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      answers.push_back({wake_result((*reply)[i][0].text()), Milliseconds((*reply)[i][1].integer())});
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return answers;
}

StoreResult<std::vector<Paused>> Feeds::pause(std::span<const std::string> feed_urls) {
  std::vector<Paused> answers;
  answers.reserve(feed_urls.size());
  while (!feed_urls.empty()) {
    const auto batch = feed_urls.first(std::min(written_at_once, feed_urls.size()));
    Args args;
    for (const std::string& url : batch) args.add(std::string_view(url));
    const auto reply = impl_.run(Script::pause, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t answer = (*reply)[i].integer();
      answers.push_back(answer == 1 ? Paused::paused : answer == 0 ? Paused::already : Paused::unknown);
    }
    feed_urls = feed_urls.subspan(batch.size());
  }
  return answers;
}

StoreResult<std::vector<Resumed>> Feeds::resume(std::span<const ResumedFeed> feeds, Milliseconds floor) {
  std::vector<Resumed> answers;
  answers.reserve(feeds.size());
  while (!feeds.empty()) {
    const auto batch = feeds.first(std::min(written_at_once, feeds.size()));
    Args args;
    args.add(floor);
    for (const ResumedFeed& feed : batch) {
      args.add(std::string_view(feed.feed_url));
      args.add(feed.after);
    }
    const auto reply = impl_.run(Script::resume, args);
    if (!reply) return reply.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      answers.push_back({resume_result((*reply)[i][0].text()), Milliseconds((*reply)[i][1].integer())});
    }
    feeds = feeds.subspan(batch.size());
  }
  return answers;
}

StoreResult<SettingsChange> Feeds::change_settings(const std::string& feed_url, const std::string& before,
                                                   const std::string& settings, bool other_hub) {
  Args args;
  for (const std::string* text : {&feed_url, &before, &settings}) args.add(std::string_view(*text));
  args.add(other_hub ? 1 : 0);
  const auto reply = impl_.run(Script::settings, args);
  if (!reply) return reply.error();
  if (reply->integer() == 1) return SettingsChange::done;
  return reply->integer() == 0 ? SettingsChange::outdated : SettingsChange::unknown;
}

// Pages of the feed list, in the order that suits operators (OPERATIONS §6). Read-only.

namespace {

// Limits of one script call, so that Redis serves others in between: URLs alone, or with their states.
constexpr std::size_t urls_per_call = 2'000, states_per_call = 500;

}  // namespace

StoreResult<FeedPage> Feeds::page(const FeedQuery& query) {
  FeedPage page;
  const bool by_schedule = query.state.empty() || query.state == "healthy";
  const std::string_view list = by_schedule ? std::string_view() : query.state;
  const std::string_view state = by_schedule ? query.state : std::string_view();
  const bool filters = !state.empty() || !query.part.empty() || !query.host.empty();
  std::vector<std::string> urls;
  std::optional<FeedPlace> place = query.after;
  do {
    const std::size_t missing = query.limit - urls.size();
    Args args;
    args.add(list);
    if (place)
      args.add(place->score);
    else
      args.add(std::string_view());
    args.add(place ? place->behind : 0);
    const std::size_t at_once = !filters                              ? missing
                                : state.empty() && query.part.empty() ? urls_per_call
                                                                      : states_per_call;
    args.add(std::min<std::size_t>(at_once, query.look - page.looked_at));
    args.add(missing);
    args.add(state);
    args.add(std::string_view(query.part));
    args.add(std::string_view(query.host));
    const auto reply = impl_.run(Script::feed_page, args);
    if (!reply) return reply.error();
    page.total = static_cast<std::uint64_t>((*reply)[0].integer());
    page.looked_at += static_cast<std::uint64_t>((*reply)[1].integer());
    if ((*reply)[2].integer() == 1)
      place.reset();
    else
      place = FeedPlace{(*reply)[3].integer(), static_cast<std::uint64_t>((*reply)[4].integer())};
    for (std::size_t i = 5; i < reply->size(); ++i) urls.emplace_back((*reply)[i].text());
  } while (place && urls.size() < query.limit && page.looked_at < query.look);
  page.next = place;
  auto found = records(urls);
  if (!found) return found.error();
  for (std::optional<FeedRecord>& record : *found) {
    if (record) page.feeds.push_back(std::move(*record));  // else removed concurrently
  }
  return page;
}

// Moves a feed to another URL and back: the requested URL changes, its keys stay (HTTP R8).

namespace {

constexpr Milliseconds undo_within = std::chrono::days(90);

const std::string& requested(const FeedRecord& record) {
  return record.state.address.requested(record.feed_url);
}

}  // namespace

StoreResult<MoveResult> Feeds::run_verb(FeedRecord record, const Move& move, const std::string& no_move_to) {
  remember_move(record.state.address, move);
  Commit frame;  // events name the feed
  frame.feed_url = record.feed_url;
  Args args;
  args.add(std::string_view(impl_.keys.channel_prefix()));
  args.add(std::string_view(record.feed_url));
  args.own(json_string(record.feed_url));
  args.own(move.to == record.feed_url ? std::string() : move.to);
  args.own(move.from);
  args.own(impl_.options.stream_cap());
  args.own(moves_text(record.state.address.moves));
  args.own(no_move_to);
  args.own(feed_event(frame, moved_event(move), move.at.count() / 1000));
  const auto reply = impl_.run(Script::move, args);
  if (!reply) return reply.error();
  const std::string_view word = reply->text();
  if (word == "ok") return MoveResult::moved;
  if (word == "taken") return MoveResult::taken;
  return word == "changed" ? MoveResult::busy : MoveResult::unknown;
}

StoreResult<MoveResult> Feeds::move(const std::string& feed_url, const std::string& to) {
  const auto time = impl_.now();
  if (!time) return time.error();
  auto found = records(std::span(&feed_url, 1));
  if (!found) return found.error();
  if (!found->front()) return MoveResult::unknown;
  FeedRecord& record = *found->front();
  if (requested(record) == to) return MoveResult::same;
  const Move move{*time, requested(record), to};
  return run_verb(std::move(record), move, "");
}

StoreResult<MoveResult> Feeds::undo_move(const std::string& feed_url) {
  const auto time = impl_.now();
  if (!time) return time.error();
  auto found = records(std::span(&feed_url, 1));
  if (!found) return found.error();
  if (!found->front()) return MoveResult::unknown;
  FeedRecord& record = *found->front();
  const std::vector<Move>& moves = record.state.address.moves;
  if (moves.empty() || *time - moves.back().at > undo_within) return MoveResult::nothing;
  const Move move{*time, requested(record), moves.back().from};
  return run_verb(std::move(record), move, move.from);
}

}  // namespace feedmill
