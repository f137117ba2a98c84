#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/process/run.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_interval{200}, host_interval{3'000};

/// A feed to be fetched by a worker, and its record before.
struct Awaited {
  std::string url;
  Milliseconds last_at{};
  std::uint64_t total_new = 0;
  bool claimed = false;  ///< claimed by a worker when last checked
  bool fails = false;    ///< its last fetch failed
};

/// Feeds with awaited results: those being polled, and a queue for `refresh --all`. The queue has 24 bytes per feed
/// instead of a URL; a second walk finds the URLs again (OPERATIONS U10).
class Waiting {
 public:
  /// `store` outlives this.
  explicit Waiting(Store& store) : walk_(store) {}

  void add(Awaited feed) { looked_at.push_back(std::move(feed)); }
  /// Adds a feed to the queue.
  void add_behind(const Awaited& feed) { behind_.push_back({hash_of(feed.url), feed.last_at, feed.total_new}); }
  /// Call after the last feed; returns the number of feeds.
  std::size_t close() {
    std::ranges::sort(behind_, {}, &Before::url);
    left_ = behind_.size();
    return looked_at.size() + left_;
  }
  /// Moves feeds from the queue while few are polled.
  void refill() {
    constexpr std::size_t few = 10'000;
    while (left_ != 0 && looked_at.size() < few) {
      stop_if_interrupted();
      const std::vector<std::string> page = or_fail(walk_.next());
      if (page.empty()) left_ = 0;  // the others were removed
      for (const std::string& url : page) {
        const auto found = std::ranges::lower_bound(behind_, hash_of(url), {}, &Before::url);
        if (found == behind_.end() || found->url != hash_of(url) || left_ == 0) continue;
        looked_at.push_back({.url = url, .last_at = found->last_at, .total_new = found->total_new});
        --left_;
      }
    }
  }
  std::size_t size() const { return looked_at.size() + left_; }
  bool empty() const { return size() == 0; }

  std::vector<Awaited> looked_at;

 private:
  struct Before {
    std::uint64_t url;  ///< its hash
    Milliseconds last_at;
    std::uint64_t total_new;
  };
  static std::uint64_t hash_of(const std::string& url) { return XXH3_64bits(url.data(), url.size()); }

  FeedWalk walk_;
  std::vector<Before> behind_;
  std::size_t left_ = 0;
};

/// Result of a refresh by any worker.
struct Result {
  std::string url, outcome, error, detail;
  int status = 0;
  std::uint64_t created = 0;
  Milliseconds next_due{};  // 0 = unknown
};

/// Summary of the printed results.
struct Tally {
  bool failed = false, put_off = false;
  bool too_early = false;      ///< a feed was fetched too recently to be fetched again (HTTP P22) …
  bool known_to_fail = false;  ///< … and that fetch had failed

  void count(const Result& result) {
    failed = failed || result.outcome == to_string(Outcome::failed);
    put_off =
        put_off || result.outcome == to_string(Outcome::deferred) || result.outcome == to_string(Outcome::aborted);
  }
  /// Exit code (OPERATIONS §1): `no` if a fetch failed, else `unfinished` if one was deferred.
  int exit() const { return failed ? exits::no : put_off ? exits::unfinished : exits::done; }
};

void tell(Terminal& terminal, const Result& result, Tally& tally) {
  tally.count(result);
  boost::json::object row = {{"url", result.url},
                             {"result", "refreshed"},
                             {"outcome", result.outcome},
                             {"status", result.status == 0 ? boost::json::value() : boost::json::value(result.status)},
                             {"error", text_or_null(result.error)}};
  if (!result.detail.empty()) row["detail"] = result.detail;
  row["created"] = result.created;
  row["next_due"] = time_json(result.next_due);
  std::string line = fmt::format("{} {}", result.outcome, visible(result.url));
  if (result.status != 0) line += fmt::format(" status={}", result.status);
  if (result.created != 0) line += fmt::format(" new={}", result.created);
  if (!result.error.empty()) line += fmt::format(" reason={}", result.error);
  if (!result.detail.empty()) line += fmt::format(" ({})", visible(result.detail));
  terminal.tell(std::move(row), line);
  terminal.flush();
}

/// Prints a feed that is not fetched now: too recent, or only made due.
void tell_wake(Terminal& terminal, const std::string& url, const Wake& wake, Milliseconds now) {
  const char* const word = wake.result == Wake::Result::too_early ? "too_early"
                           : wake.result == Wake::Result::noted   ? "noted"
                           : wake.result == Wake::Result::due     ? "due"
                           : wake.result == Wake::Result::paused  ? "paused"
                                                                  : "unknown";
  std::string line = fmt::format("{} {}", word, visible(url));
  if (wake.result == Wake::Result::too_early) {
    line = fmt::format(
        "too early {}: may be fetched {}, at {} (feedmill refresh --ignore-floor: sooner, unless the server set the "
        "time)",
        visible(url), from_now(wake.at, now), rfc3339(wake.at));
  } else if (wake.result == Wake::Result::paused) {
    line += ": use feedmill resume";
  }
  terminal.tell({{"url", url}, {"result", word}, {"due", time_json(wake.at)}}, line);
}

Result result_of(const FeedRecord& record, const Awaited& before) {
  const FeedState& state = record.state;
  return {record.feed_url,
          state.last.outcome,
          state.last.error,
          state.last.detail,
          state.last.status,
          state.counts.total_new - std::min(state.counts.total_new, before.total_new),
          record.due.value_or(Milliseconds(0))};
}

Result result_of(const Report& report, Milliseconds now) {
  return {report.feed_url,
          std::string(to_string(report.outcome)),
          std::string(to_string(report.reason)),
          report.detail,
          report.statuses.empty() ? 0 : report.statuses.back(),
          report.created,
          now + report.next_in};
}

/// Prints the results of workers and removes those feeds from `awaited`. Polls a limited number of feeds per call,
/// cyclically from `at`: polling must not cost the store more than fetching.
void look(std::vector<Awaited>& awaited, std::size_t& at, const VerbContext& context, Tally& tally) {
  constexpr std::size_t most = 5'000, at_once = 500;
  const auto now = or_fail(context.store.now());
  if (at >= awaited.size()) at = 0;
  std::size_t kept = at;
  const std::size_t end = std::min(awaited.size(), at + most);
  for (std::size_t begin = at; begin < end;) {
    stop_if_interrupted();
    const std::size_t next = std::min(end, begin + at_once);
    std::vector<std::string> urls;
    for (std::size_t i = begin; i < next; ++i) urls.push_back(awaited[i].url);
    const auto records = or_fail(Feeds(context.store).records(urls));
    for (; begin < next; ++begin) {
      Awaited& feed = awaited[begin];
      const std::optional<FeedRecord>& record = records[records.size() - (next - begin)];
      feed.claimed = record && !record->claim.empty() && record->due > now;  // else the lease has ended
      const bool is_paused = record && record->state.state == "paused" && !feed.claimed;
      if (!record || is_paused) {  // removed or paused since
        tell_wake(context.terminal, feed.url, {is_paused ? Wake::Result::paused : Wake::Result::unknown, {}}, now);
        tally.put_off = true;
        continue;
      }
      if (record->state.last.at != feed.last_at) {
        tell(context.terminal, result_of(*record, feed), tally);
        continue;
      }
      if (kept != begin) awaited[kept] = std::move(feed);
      ++kept;
    }
  }
  const auto place = [&](std::size_t index) { return awaited.begin() + static_cast<std::ptrdiff_t>(index); };
  awaited.erase(place(kept), place(end));
  at = kept;
}

/// Time until which the host accepts no manual refresh, as far as known.
Milliseconds left_alone_until(const HostState& host, const std::string& egress) {
  const auto quota = std::ranges::find(host.quotas, egress, &HostQuota::egress);
  return quota == host.quotas.end() || quota->open_to_wish ? host.not_before : std::max(host.not_before, quota->hold);
}

/// Removes feeds from `awaited` if their hosts back off for longer than we wait, and prints the time. Checks only the
/// first 500 feeds.
void leave_backing_off(std::vector<Awaited>& awaited, const VerbContext& context, std::chrono::milliseconds patience,
                       Tally& tally) {
  constexpr std::size_t most = 500;
  std::vector<std::string> urls, hosts;
  for (const Awaited& feed : std::span(awaited).first(std::min(awaited.size(), most))) urls.push_back(feed.url);
  const auto records = or_fail(Feeds(context.store).records(urls));
  for (const std::optional<FeedRecord>& record : records) {
    const bool moved = record && !record->state.address.fetch_url.empty();
    hosts.push_back(server_of(!record ? "" : moved ? record->state.address.fetch_url : record->feed_url));
  }
  const auto now = or_fail(context.store.now());
  const auto states = or_fail(Hosts(context.store).states(hosts));
  std::set<std::string> left;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const bool is_claimed = records[i] && !records[i]->claim.empty() && records[i]->due > now;
    const Milliseconds until = left_alone_until(states[i], context.config.egress.name);
    if (!records[i] || is_claimed || until < now + patience) continue;
    context.terminal.tell(
        {{"url", urls[i]}, {"result", "noted"}, {"due", time_json(until)}},
        fmt::format("noted {}: its host is backing off until {}; the feed stays due (feedmill explain)",
                    visible(urls[i]), rfc3339(until)));
    tally.put_off = true;
    left.insert(urls[i]);
  }
  if (!left.empty()) context.terminal.flush();
  std::erase_if(awaited, [&](const Awaited& feed) { return left.contains(feed.url); });
}

/// Waits for workers to fetch the feeds. Returns when no result is awaited, or when no worker is alive and a polled
/// feed is unclaimed. Throws VerbFailure if no result arrives for longer than a fetch may take.
void wait_for_others(Waiting& waiting, const VerbContext& context, Tally& tally) {
  Terminal& terminal = context.terminal;
  const std::size_t total = waiting.size();
  const auto patience = context.config.fetch.wall + context.config.schedule.lease;
  Progress progress(terminal, "refreshing", total);
  auto last_news = Clock::now(), looked_at_hosts = last_news;
  std::size_t at = 0;
  for (;;) {
    stop_if_interrupted();
    waiting.refill();
    if (waiting.empty()) break;
    const std::size_t before = waiting.size();
    look(waiting.looked_at, at, context, tally);
    progress.reached(total - waiting.size());
    if (waiting.empty()) break;
    if (waiting.size() < before) last_news = Clock::now();
    if (Clock::now() - std::max(last_news, looked_at_hosts) > host_interval) {
      leave_backing_off(waiting.looked_at, context, patience, tally);
      looked_at_hosts = Clock::now();
      continue;
    }
    const auto figures = or_fail(Fleet(context.store).figures());
    if (figures.workers == 0 && !std::ranges::all_of(waiting.looked_at, &Awaited::claimed)) break;
    if (Clock::now() - last_news > patience) {
      throw VerbFailure{exits::unfinished,
                        fmt::format("{} of {} feeds are still waiting: no result for a long time; they stay due",
                                    waiting.size(), total)};
    }
    std::this_thread::sleep_for(look_interval);
  }
}

Awaited as_it_is(const FeedRecord& record) {
  return {.url = record.feed_url,
          .last_at = record.state.last.at,
          .total_new = record.state.counts.total_new,
          .fails = !record.state.last.error.empty()};
}

/// The registered feeds of `urls` with their current records; reports the others as errors.
std::vector<Awaited> registered(const std::vector<std::string>& urls, const VerbContext& context) {
  const auto records = all_records(context.store, urls);
  std::vector<Awaited> known;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (const std::optional<FeedRecord>& record = records[i]) {
      known.push_back(as_it_is(*record));
    } else {
      context.terminal.error(
          fmt::format("no such feed: {}; nothing was refreshed (see feedmill list)", visible(urls[i])));
    }
  }
  return known;
}

/// Makes feeds due. Adds those that will be fetched to `waiting`; prints the result for the others.
void make_due(std::span<const Awaited> feeds, const OperationValues& given, const VerbContext& context,
              Milliseconds now, Waiting& waiting, Tally& tally) {
  std::vector<std::string> urls;
  for (const Awaited& feed : feeds) urls.push_back(feed.url);
  const auto woken =
      or_fail(Feeds(context.store).wake(urls, context.config.schedule.manual_floor, given.truth("ignore-floor")));
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const Wake& wake = woken[i];
    const bool comes = wake.result == Wake::Result::due || wake.result == Wake::Result::noted;
    if (given.truth("defer") || !comes) tell_wake(context.terminal, urls[i], wake, now);
    tally.too_early = tally.too_early || wake.result == Wake::Result::too_early;
    tally.known_to_fail = tally.known_to_fail || (wake.result == Wake::Result::too_early && feeds[i].fails);
    tally.failed = tally.failed || (wake.result == Wake::Result::paused && !given.truth("all"));  // requested by name
    if (!comes || given.truth("defer")) continue;
    if (given.truth("all")) {
      waiting.add_behind(feeds[i]);
    } else {
      waiting.add(feeds[i]);
    }
  }
}

/// Prints results as workers or this process produce them. Returns exits::done even if fetches fail: their results are
/// in `tally`.
int await(Waiting waiting, const VerbContext& context, Milliseconds now, Tally& tally) {
  Terminal& terminal = context.terminal;
  terminal.flush();
  if (waiting.close() == 0) return exits::done;
  std::vector<Awaited>& awaited = waiting.looked_at;
  for (;;) {
    wait_for_others(waiting, context, tally);
    if (waiting.empty()) return exits::done;
    // If no worker is alive, this process fetches the unclaimed feeds.
    constexpr std::size_t most = 2'000;  // feeds that one claim may examine
    std::set<std::string> idle, told;
    for (const Awaited& feed : awaited) {
      if (!feed.claimed && idle.size() < most) idle.insert(feed.url);
    }
    const int code = refresh_in_process(context.config, {idle.begin(), idle.end()}, [&](const Report& report) {
      told.insert(report.feed_url);
      tell(terminal, result_of(report, now), tally);
    });
    if (code != exits::done) return code;
    std::erase_if(awaited, [&](const Awaited& feed) { return told.contains(feed.url); });
    std::size_t at = 0;
    do look(awaited, at, context, tally);
    while (at < awaited.size());
    std::erase_if(awaited, [&](const Awaited& feed) {
      if (feed.claimed || !idle.contains(feed.url)) return false;
      tally.put_off = true;  // fetched neither here nor by a worker
      tell_wake(terminal, feed.url, {Wake::Result::noted, now}, now);
      return true;
    });
    terminal.flush();
  }
}

int refresh_feeds(const OperationValues& given, const VerbContext& context) {
  const auto now = or_fail(context.store.now());
  Waiting waiting(context.store);
  Tally tally;
  if (given.truth("all")) {
    Progress progress(context.terminal, "requesting", or_fail(Feeds(context.store).count()));
    std::size_t asked = 0;
    over_all_feeds(context.store, [&](const auto& page) {
      progress.reached(asked);
      asked += page.size();
      std::vector<Awaited> feeds;
      for (const std::optional<FeedRecord>& record : or_fail(Feeds(context.store).records(page))) {
        if (record) feeds.push_back(as_it_is(*record));
      }
      make_due(feeds, given, context, now, waiting, tally);
      context.terminal.flush();
    });
  } else {
    const auto urls = feed_urls(context.terminal, given.texts("URL"), "nothing was refreshed");
    const auto known = registered(urls, context);
    if (known.size() < urls.size()) return exits::no;
    in_parts(known, [&](const auto& part) { make_due(part, given, context, now, waiting, tally); });
  }
  const int code = await(std::move(waiting), context, now, tally);
  tally.put_off = tally.put_off || tally.too_early;
  return code == exits::done ? tally.exit() : code;
}

bool always(const OperationValues&) {
  return true;
}

}  // namespace

VerbRow refresh_verb() {
  static constexpr std::array taken{fields::either(fields::urls), fields::either(fields::flag("--all", "Every feed")),
                                    fields::flag("--defer", "Only make them due; a running worker fetches them"),
                                    fields::flag("--ignore-floor", "Even if the last fetch was very recent")};
  return {.name = "refresh",
          .about = "Fetch feeds now and show the result",
          .example = "feedmill refresh https://example.org/feed.xml",
          .exits = "1 when a fetch failed or a named feed is paused, 75 when one was postponed",
          .fields = taken,
          .is_of_each = always,
          .fetches = true,
          .run = refresh_feeds};
}

int refresh_added(const std::vector<std::string>& feed_urls, const std::vector<std::string>& just_added,
                  const VerbContext& context) {
  const std::set<std::string> added(just_added.begin(), just_added.end());
  Tally tally;
  const OperationValues given;
  return carry_out(refresh_verb(), context.terminal, [&] {
    const auto now = or_fail(context.store.now());
    Waiting waiting(context.store);
    std::vector<Awaited> present;
    for (Awaited& feed : registered(feed_urls, context)) {
      if (added.contains(feed.url)) {
        // Adding a feed makes it due. Waking it after a worker has claimed it would fetch it twice for one request
        // (RELIABILITY L10).
        waiting.add({.url = std::move(feed.url)});
      } else {
        present.push_back(std::move(feed));
      }
    }
    in_parts(present, [&](const auto& part) { make_due(part, given, context, now, waiting, tally); });
    const int code = await(std::move(waiting), context, now, tally);
    tally.failed = tally.failed || tally.known_to_fail;
    return code == exits::done ? tally.exit() : code;
  });
}

}  // namespace feedmill
