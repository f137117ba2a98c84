#include "worker/process/fleet_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/queues/requests.hpp"
#include "storage/timelines/notifications.hpp"
#include "worker/base/system.hpp"
#include "worker/observe/notices.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds until_opened{100};

/// The first interval is staggered by partition, so that partitions take turns.
Milliseconds first_of(Milliseconds every, const Partition& partition) {
  return every * (partition.index + 1) / partition.count;
}

}  // namespace

asio::awaitable<void> beat(IngestParts& loop, const Partition& partition, std::size_t stores, Metrics& metrics) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const Milliseconds every = idle_pace(stores, Milliseconds(5'000), Milliseconds(20'000));
  const Milliseconds ttl = std::max(Milliseconds(20'000), every * 5 / 2);
  Milliseconds rest = first_of(every, partition);
  for (;;) {
    if (!loop.worker.stopping()) {
      const Fields fields{{"host", host_name()},         {"pid", std::to_string(getpid())},
                          {"version", FEEDMILL_VERSION}, {"in_flight", std::to_string(loop.worker.in_flight())},
                          {"does", loop.does},           {"configuration", loop.configuration}};
      const bool fetches = loop.does.starts_with("fetch");
      const auto work = [&](Store& store) { return Fleet(store).heartbeat(loop.worker.id(), fields, ttl, fetches); };
      const StoreResult<std::uint64_t> alive = co_await loop.store.call(work);
      if (alive) {
        loop.alive = *alive;
      } else {
        metrics.store_error(alive.error());
        if (fetches) loop.worker.note_failure(alive.error());  // otherwise the next claim would notice as late
      }
    }
    timer.expires_after(std::exchange(rest, every));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

namespace {

/// Our clock minus Redis' clock, accurate to half of the round trip.
StoreResult<Milliseconds> clock_offset(Store& store) {
  const Milliseconds before = wall_clock();
  StoreResult<Milliseconds> now = store.now();
  if (!now) return now;
  return (before + wall_clock()) / 2 - *now;
}

void note_clock(ServedParts& parts, Milliseconds offset) {
  const bool was_off = abs(parts.clock_offset) > clock_warning, is_off = abs(offset) > clock_warning;
  parts.clock_offset = offset;
  parts.metrics.set_clock_offset(offset);
  if (was_off == is_off) return;
  const double seconds = std::chrono::duration<double>(offset).count();
  if (is_off) {
    parts.log.write(abs(offset) > clock_fault ? LogLevel::error : LogLevel::warn, "clock",
                    "this machine's clock differs from Redis' clock; synchronise both by NTP: due times use Redis' "
                    "clock, certificates and dates use this one",
                    {{"offset_seconds", seconds}});
  } else {
    parts.log.write(LogLevel::info, "clock", "this machine's clock agrees with Redis' clock again",
                    {{"offset_seconds", seconds}});
  }
}

/// Logs whether the configurations of workers differ. With several stores, all have the same workers, so the first
/// tells.
void tell_of_configurations(ServedParts& parts, const std::vector<std::string>& differing) {
  const LogLevel level = parts.config.partition().index == 0 ? LogLevel::warn : LogLevel::debug;
  if (differing.empty()) {
    parts.log.write(std::min(level, LogLevel::info), "configuration", "all workers have the same configuration again");
  } else {
    parts.log.write(level, "configuration",
                    "workers of this store have different configurations: give all the same values",
                    {{"options", fmt::format("{}", fmt::join(differing, " "))}});
  }
}

asio::awaitable<void> tell_of_requests(ServedParts& parts, const RequestFigures& figures) {
  parts.log.write(LogLevel::warn, "notice", "programs send requests faster than they are processed",
                  {{"waiting", figures.waiting}, {"bytes", figures.bytes}});
  const auto work = [&](Store& store) -> StoreResult<void> {
    const auto now = store.now();
    if (!now) return now.error();
    const Notice notice = requests_notice(figures, *now);
    return Notifications(store).add(std::span(&notice, 1));
  };
  const StoreResult<void> told = co_await parts.ingest.store.call_aside(work);
  if (!told) parts.metrics.store_error(told.error());
}

}  // namespace

asio::awaitable<void> look_after_orphans(ServedParts& parts) {
  for (std::size_t found = 1; found > 0 && parts.config.feeds.orphan_after.count() > 0;) {
    const Milliseconds after = parts.config.feeds.orphan_after;
    const StoreResult<std::size_t> step = co_await parts.ingest.store.call_aside(
        [after](Store& store) { return Feeds(store).look_after_orphans(after); });
    if (!step) parts.metrics.store_error(step.error());
    found = step ? *step : 0;
  }
}

namespace {

/// RELIABILITY L22: does one step of the endless walk over the index, or all steps if an older build left it
/// incomplete.
asio::awaitable<void> look_after_index(ServedParts& parts, IndexPlace& place, bool is_indexed) {
  if (!is_indexed) place = IndexPlace();
  do {
    const StoreResult<void> step =
        co_await parts.ingest.store.call_aside([&](Store& store) { return Feeds(store).index_step(place); });
    if (!step) {
      parts.metrics.store_error(step.error());
      co_return;
    }
  } while (!is_indexed && !place.is_done());
  if (place.is_done()) place = IndexPlace();
}

/// Upkeep of the partition by the worker with the lead lease (RELIABILITY L23); stores expensive results for the
/// others.
asio::awaitable<void> look_after_all(ServedParts& parts, StalenessScan& survey, IndexPlace& index,
                                     const FleetFigures& figures) {
  std::optional<Milliseconds> oldest;
  if (parts.mode == RunMode::daemon && figures.is_indexed)  // without the index, each page would read all feeds
    oldest = co_await parts.ingest.store.call_aside([&](Store& store) { return survey.step(store); });
  const StoreResult<void> noted =
      co_await parts.ingest.store.call_aside([&](Store& store) { return Fleet(store).note(figures, oldest); });
  if (!noted) parts.metrics.store_error(noted.error());
  co_await parts.ingest.store.call_aside(
      [](Store& store) { return Feeds(store).finish_removals(); });  // RELIABILITY S15
  co_await look_after_orphans(parts);
  co_await look_after_index(parts, index, figures.is_indexed);
}

}  // namespace

Milliseconds quiet_for(const FleetFigures& figures, const RequestFigures& requests, Milliseconds longest) {
  const bool is_quiet = figures.due + figures.waiting + figures.claimed + requests.waiting == 0 && figures.is_indexed;
  if (!is_quiet) return Milliseconds(0);
  return figures.oldest_due ? std::min(*figures.oldest_due - figures.now, longest) : longest;
}

asio::awaitable<void> watch_fleet(ServedParts& parts) {
  StorePool& pool = parts.ingest.store;
  asio::steady_timer timer(parts.loop);
  StalenessScan survey;
  IndexPlace index;
  std::uint64_t reconnects = 0, claimed = 0, alive = 0;
  std::vector<std::string> differing;
  bool piled_up = false;
  const Milliseconds every = idle_pace(parts.shared.stores, Milliseconds(15'000), Milliseconds(60'000));
  const Milliseconds longest = idle_pace(parts.shared.stores, Milliseconds(15'000), Milliseconds(300'000));
  const Milliseconds lead_ttl = every * 8 / 3;
  Milliseconds rest = first_of(every, parts.config.partition());
  Milliseconds first_longest = first_of(longest, parts.config.partition());
  std::chrono::steady_clock::time_point quiet_until;
  for (;;) {
    timer.expires_after(parts.opened ? std::exchange(rest, every) : until_opened);
    co_await timer.async_wait(asio::use_awaitable);
    if (!parts.opened || parts.ingest.worker.stopping()) continue;
    const auto begun = std::chrono::steady_clock::now();
    const std::uint64_t claimed_now = parts.of_all_loops([](const IngestParts& loop) { return loop.worker.claimed(); });
    if (claimed_now != claimed || parts.ingest.alive != alive) quiet_until = {};  // the figures are out of date
    claimed = claimed_now;
    alive = parts.ingest.alive;
    if (begun < quiet_until) continue;
    const StoreResult<bool> held =
        co_await pool.call_aside([&](Store& store) { return Fleet(store).lead(parts.id, lead_ttl); });
    if (!held && is_transient(held.error())) continue;  // the calls below would fail as late
    const bool leads = held && *held;
    const StoreResult<FleetFigures> figures =
        co_await pool.call_aside([leads](Store& store) { return Fleet(store).figures(leads); });
    if (figures) {
      parts.metrics.set_fleet(*figures);
      parts.fleet = *figures;
      const bool is_news = std::exchange(differing, figures->differing) != figures->differing;
      if (leads && is_news) tell_of_configurations(parts, differing);
      parts.on_each_loop([figures = *figures](IngestParts& loop) { loop.worker.set_fleet(figures); });
      parts.requests.set_yields(parts.ingest.worker.yields());
      parts.deliver.set_yields(parts.ingest.worker.yields());
    }
    const StoreResult<StreamFigures> stream = co_await pool.call_aside(
        [leads](Store& store) { return leads ? EventStream(store).trim() : EventStream(store).figures(); });
    if (stream) parts.metrics.set_stream(*stream);
    const StoreResult<RequestFigures> requests =
        co_await pool.call_aside([](Store& store) { return Requests(store, {}).figures(); });
    if (requests) {
      parts.metrics.set_requests(*requests);
      parts.requests_set_aside = requests->set_aside;
      if (requests->waiting == 0) {
        const StoreResult<void> renewed =
            co_await pool.call_aside([](Store& store) { return RequestStream(store).renew(); });
        if (!renewed) parts.metrics.store_error(renewed.error());
      }
      if (requests->piles_up() && !piled_up) co_await tell_of_requests(parts, *requests);
      piled_up = requests->piles_up();
    }
    if (figures && requests) {
      quiet_until = begun + quiet_for(*figures, *requests, std::exchange(first_longest, longest)) - every / 2;
    }
    const StoreResult<Milliseconds> offset = co_await pool.call_aside(clock_offset);
    if (offset) note_clock(parts, *offset);
    if (leads && figures) co_await look_after_all(parts, survey, index, *figures);
    if (parts.config.worker.ingest) {
      const StoreResult<void> fit = co_await pool.call_aside([](Store& store) { return store.check_eviction(); });
      parts.other_loops.spawn([fit](IngestParts& loop) { return loop.worker.on_eviction_check(fit); });
      co_await parts.ingest.worker.on_eviction_check(fit);  // RELIABILITY §6
    }
    parts.metrics.set_log_suppressed(parts.log.suppressed());
    const std::uint64_t all_reconnects =
        parts.of_all_loops([](const IngestParts& loop) { return loop.store.reconnects(); });
    parts.metrics.reconnected(all_reconnects - std::exchange(reconnects, all_reconnects));
  }
}

namespace {

constexpr std::size_t page_size = 500, pages_per_step = 4;

}  // namespace

std::optional<Milliseconds> StalenessScan::step(Store& store) {
  for (std::size_t i = 0; i < pages_per_step; ++i) {
    Feeds feeds(store);
    const auto urls = feeds.urls_after(after_, page_size);
    const auto successes =
        urls ? feeds.last_successes(*urls) : StoreResult<std::vector<std::optional<Milliseconds>>>(urls.error());
    if (!successes) {
      *this = StalenessScan();
      return std::nullopt;
    }
    for (const std::optional<Milliseconds> success : *successes) {
      if (success && success->count() != 0) oldest_ = std::min(oldest_.value_or(*success), *success);
    }
    if (urls->size() == page_size) {
      after_ = urls->back();
      continue;
    }
    const Milliseconds oldest = oldest_.value_or(Milliseconds(0));
    *this = StalenessScan();
    return oldest;
  }
  return std::nullopt;
}

}  // namespace feedmill
