#include "worker/process/fleet_watch.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <unistd.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "worker/base/host_name.hpp"
#include "worker/ingest/staleness_scan.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds heartbeat_every{5'000}, heartbeat_ttl{20'000}, figures_every{15'000};
constexpr Milliseconds until_opened{100};

}  // namespace

asio::awaitable<void> beat(ProcessParts& parts) {
  if (parts.mode != RunMode::daemon || !parts.config.worker.ingest) co_return;
  asio::steady_timer timer(parts.loop);
  for (;;) {
    if (parts.opened && !parts.worker.stopping()) {
      const Fields fields{{"host", host_name()},
                          {"pid", std::to_string(getpid())},
                          {"version", FEEDMILL_VERSION},
                          {"in_flight", std::to_string(parts.worker.in_flight())}};
      const auto work = [&](Store& store) { return Fleet(store).heartbeat(parts.options.id, fields, heartbeat_ttl); };
      const StoreResult<void> done = co_await parts.store.call(work);
      if (!done) parts.metrics.store_error(done.error());
    }
    timer.expires_after(parts.opened ? heartbeat_every : until_opened);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> watch_fleet(ProcessParts& parts) {
  asio::steady_timer timer(parts.loop);
  StalenessScan survey;
  std::uint64_t reconnects = 0;
  for (;;) {
    timer.expires_after(parts.opened ? figures_every : until_opened);
    co_await timer.async_wait(asio::use_awaitable);
    if (!parts.opened) continue;
    const StoreResult<FleetFigures> figures =
        co_await parts.store.call([](Store& store) { return Fleet(store).figures(); });
    if (figures) {
      parts.metrics.set_fleet(*figures);
      parts.worker.set_fleet(*figures);
    }
    const StoreResult<StreamFigures> stream =
        co_await parts.store.call([](Store& store) { return EventStream(store).trim(); });
    if (stream) parts.metrics.set_stream(*stream);
    co_await parts.store.call([](Store& store) { return Feeds(store).finish_removals(); });  // RELIABILITY S15
    if (parts.config.worker.ingest) {
      const StoreResult<void> fit = co_await parts.store.call([](Store& store) { return store.check_eviction(); });
      co_await parts.worker.on_eviction_check(fit);  // RELIABILITY §6: at least every 60 s
    }
    const auto oldest = co_await parts.store.call([&](Store& store) { return survey.step(store); });
    if (oldest) parts.metrics.set_oldest_success(*oldest);
    parts.metrics.set_log_suppressed(parts.log.suppressed());
    parts.metrics.reconnected(parts.store.reconnects() - reconnects);
    reconnects = parts.store.reconnects();
  }
}

}  // namespace feedmill
