#include "worker/process/stopping.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "storage/redis/test_point.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/threads.hpp"
#include "worker/base/units.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

constexpr Milliseconds leave_within{1'800};  // RELIABILITY D2 allows 2 s

}  // namespace

void Stopping::stop(bool at_terminal) {
  Worker& worker = parts_.ingest.worker;
  const bool first = !worker.stopping();
  parts_.on_each_loop([](IngestParts& loop) { loop.worker.stop(); });
  test_point("S16");
  // Wait drain.listen for hubs, but not for an operator at a terminal; hubs retry.
  if (parts_.websub) first && !at_terminal ? parts_.websub->stop() : parts_.websub->hurry();
  if (parts_.push_out) first && !at_terminal ? parts_.push_out->stop() : parts_.push_out->hurry();
  if (first) since_ = std::chrono::steady_clock::now();
  parts_.requests.stop();
  // Fetches use their own connections and may notice an outage of the server late.
  if (parts_.mode == RunMode::daemon && parts_.in_flight() == 0 && !parts_.websub) parts_.deliver.finish();
  parts_.nap.cancel();
  if (!first) parts_.deliver.stop();
  if (parts_.mode == RunMode::selected) {  // a verb does not drain: it releases its claims and ends with 130
    interrupted_ = true;
    worker.stop();
    parts_.deliver.stop();
  }
  // Before the store is open there is nothing to drain; a private server that is still starting answers soon enough.
  const bool idle = !parts_.opened && parts_.server == nullptr;
  if (!first || parts_.mode == RunMode::selected || idle) leave_soon();
  parts_.metrics.set_draining(true);
  parts_.shared.notify.stopping(first ? "draining" : "stopping");
  if (parts_.mode != RunMode::daemon) return;
  if (!first) {
    parts_.log.write(parts_.level_among_others(), "stop",
                     "told to stop now: cancelling and releasing running refreshes",
                     {{"in_flight", parts_.in_flight()}});
    return;
  }
  parts_.log.write(parts_.in_flight() > 0 ? LogLevel::info : parts_.level_among_others(), "drain",
                   what_a_stop_waits_for(parts_, parts_.in_flight(), at_terminal), {{"in_flight", parts_.in_flight()}});
}

std::string what_a_stop_waits_for(const ServedParts& parts, std::size_t in_flight, bool at_terminal) {
  const bool hubs = parts.websub && parts.websub->callbacks() != nullptr && !at_terminal;
  std::string waits;
  if (in_flight > 0)
    waits = fmt::format("up to {} for {} refreshes in flight", format_duration(parts.config.drain.timeout), in_flight);
  if (hubs)
    waits += fmt::format("{}{} for callbacks of hubs (drain.listen)", waits.empty() ? "" : ", and ",
                         format_duration(parts.config.drain.listen));
  return waits.empty() ? "told to stop; nothing is in flight"
                       : "told to stop: waiting " + waits + "; a second signal stops at once";
}

void Stopping::ended(int exit_code) {
  last_resort_.cancel();
  if (!since_ || parts_.mode != RunMode::daemon) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - *since_).count();
  parts_.log.write(exit_code != exits::done ? LogLevel::info : parts_.level_among_others(), "stopped",
                   exit_code == exits::done
                       ? "stopped; all claims were stored or released"
                       : "stopped; claims that could not be released come due when their leases end",
                   {{"took_ms", took}});
}

/// RELIABILITY D2: an unresponsive store must not delay the end; its leases expire.
void Stopping::leave_soon() {
  if (std::exchange(leaving_, true)) return;
  last_resort_.expires_after(leave_within);
  last_resort_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    if (parts_.shared.stores == 1) {  // with several stores the process logs their number
      const bool claims = parts_.opened && (parts_.loops > 1 || parts_.ingest.worker.holds_claims());
      parts_.log.write(LogLevel::warn, "stopped",
                       claims ? "stopped; Redis does not answer, so claims come due when their leases end"
                              : "stopped; Redis does not answer, but nothing is claimed");
    }
    if (parts_.server != nullptr) parts_.server->abandon();
    left_ = true;
    parts_.shared.leave(interrupted_ ? exits::interrupted : parts_.opened ? exits::unfinished : exits::done);
  });
}

void cut_off(ServedParts& parts, const std::exception& why) {
  const bool refused = is_short_of_threads(why);
  if (refused)
    parts.log.write(LogLevel::error, "config_error", short_of_threads);
  else
    parts.report_bug("loop", why.what());
  if (parts.server != nullptr) parts.server->abandon();
  end_now(refused ? exits::unfinished : exits::bug);
}

void end_now(int exit_code) {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // lets the log thread write
  std::_Exit(exit_code);
}

}  // namespace feedmill
