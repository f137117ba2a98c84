#include "worker/process/process_status.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "storage/feeds/fleet.hpp"
#include "storage/websub/pushes.hpp"
#include "worker/base/host_name.hpp"
#include "worker/base/wall_clock.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds ping_spacing = std::chrono::minutes(5);

}  // namespace

std::vector<Check> ready_checks(const ServedParts& parts) {
  const std::string trouble = parts.opened ? parts.outages.trouble() : parts.opening_trouble.detail;
  std::vector<Check> checks{{"redis", parts.opened && parts.outages.is_up(), trouble},
                            {"not_draining", !parts.ingest.worker.stopping(), ""}};
  if (parts.requests_set_aside > 0) {  // a program's fault; must not take this worker out of service
    checks.push_back({"requests", true,
                      fmt::format("{} moved to state:requests:poison; see feedmill doctor", parts.requests_set_aside)});
  }
  return checks;
}

asio::awaitable<Pinged> ping(ServedParts& parts, std::vector<std::string> texts) {
  std::vector<std::string> urls;
  for (const std::string& text : texts) {
    if (auto url = canonical_feed_url(text)) urls.push_back(std::move(*url));
  }
  const bool is_away = !parts.opened || !parts.outages.is_up();
  Pinged pinged{.store_away = is_away};
  if (urls.empty() || is_away) co_return pinged;
  const auto ask = [&](Store& store) { return Pushes(store).ping(urls, ping_spacing); };
  const StoreResult<std::vector<std::optional<Milliseconds>>> at = co_await parts.ingest.store.call(ask);
  pinged.store_away = !at;
  if (!at) {
    parts.metrics.store_error(at.error());
    co_return pinged;
  }
  pinged.feeds = static_cast<std::size_t>(std::ranges::count_if(*at, [](const auto& one) { return one.has_value(); }));
  pinged.unknown = urls.size() - pinged.feeds;
  co_return pinged;
}

namespace {

/// Utilisation, for autoscalers.
void note_use(ServedParts& parts) {
  const std::size_t busy = parts.in_flight();
  parts.metrics.set_lanes(busy, parts.all_lanes() - busy);
  parts.metrics.set_store_connections(
      parts.of_all_loops([](const IngestParts& loop) { return loop.store.connections(); }),
      parts.of_all_loops([](const IngestParts& loop) { return loop.store.busy(); }));
  timespec first{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &first);  // callers run on the first loop
  std::vector<std::chrono::nanoseconds> loops = parts.other_loops.cpu_times();
  loops.insert(loops.begin(), std::chrono::seconds(first.tv_sec) + std::chrono::nanoseconds(first.tv_nsec));
  parts.metrics.set_loops(loops);
}

}  // namespace

void note_figures(ServedParts& parts) {
  parts.metrics.set_ready(parts.is_ready());
  parts.metrics.set_inflight_bytes(parts.memory.used());
  parts.metrics.set_unacknowledged_bytes(parts.unanswered_bytes());
  note_use(parts);
}

ProcessStatus process_status(ServedParts& parts) {
  ProcessStatus status;
  status.worker = parts.id;
  status.host = host_name();
  status.version = FEEDMILL_VERSION;
  status.pid = getpid();
  if (parts.push_out) status.streams = parts.push_out->open_streams();
  status.configuration = parts.configuration;
  status.clock = wall_clock();
  status.clock_offset = parts.clock_offset;
  status.ready = ready_checks(parts);
  status.stopping = parts.ingest.worker.stopping();
  status.others_trouble = parts.shared.trouble_beside(parts);
  status.reload_refused = parts.reload_refused;
  status.restart_awaited = parts.restart_awaited;
  if (!parts.opened)
    status.store_trouble = parts.opening_trouble;
  else if (!parts.outages.is_up())
    status.store_trouble = parts.outages.error();
  status.ingest = parts.config.worker.ingest;
  status.deliver = parts.config.worker.deliver;
  status.lanes_busy = parts.in_flight();
  status.lanes = parts.all_lanes();
  status.memory_used = parts.memory.used();
  status.memory_budget = parts.memory.total();
  status.memory_resident = resident_memory();
  status.log_suppressed = parts.log.suppressed();
  return status;
}

asio::awaitable<void> tell_status(ServedParts& parts) {
  const std::string state = parts.shared.state();
  std::vector<LogField> fields{{"in_flight", parts.in_flight()},
                               {"lanes", parts.all_lanes()},
                               {"inflight_bytes", parts.memory.used()},
                               {"memory_budget_bytes", parts.memory.total()},
                               {"unacknowledged_bytes", parts.unanswered_bytes()},
                               {"suppressed", parts.log.suppressed()}};
  if (parts.is_ready()) {
    const StoreResult<FleetFigures> fleet =
        co_await parts.ingest.store.call([](Store& store) { return Fleet(store).figures(); });
    if (fleet) {
      fields.insert(fields.end(), {{"feeds", fleet->feeds}, {"due", fleet->due}, {"workers", fleet->workers}});
    } else {
      parts.metrics.store_error(fleet.error());
    }
  }
  parts.log.write(LogLevel::info, "notice", state, fields);
}

}  // namespace feedmill
