#include "worker/process/stopping.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "storage/feeds/hosts.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/config/host_rules.hpp"

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
  // Wait for hubs for drain.listen, unless an operator at a terminal is waiting; hubs retry.
  if (parts_.websub) first && !at_terminal ? parts_.websub->stop() : parts_.websub->hurry();
  if (parts_.push_out) first && !at_terminal ? parts_.push_out->stop() : parts_.push_out->hurry();
  if (first) since_ = std::chrono::steady_clock::now();
  parts_.requests.stop();
  // Fetches have their own connections and may notice an outage of the server late.
  if (parts_.mode == RunMode::daemon && parts_.in_flight() == 0 && !parts_.websub) parts_.deliver.finish();
  parts_.nap.cancel();
  if (!first) parts_.deliver.stop();
  if (parts_.mode == RunMode::selected) {  // a verb does not drain: it releases its claims and exits with 130
    interrupted_ = true;
    worker.stop();
    parts_.deliver.stop();
  }
  // Before the store is open there is nothing to drain; a private server that is still starting will answer soon.
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
  parts_.log.write(parts_.level_among_others(), "drain", what_a_stop_waits_for(parts_, parts_.in_flight(), at_terminal),
                   {{"in_flight", parts_.in_flight()}});
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

/// RELIABILITY D2: ends the process even if the store does not respond; its leases expire.
void Stopping::leave_soon() {
  if (std::exchange(leaving_, true)) return;
  last_resort_.expires_after(leave_within);
  last_resort_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    if (parts_.shared.stores == 1) {  // with several stores, the process logs how many
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
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // gives the log thread time to write
  std::_Exit(exit_code);
}

namespace {

std::string joined(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text.append(text.empty() ? "" : " ").append(key);
  return text;
}

/// With several stores, the first one logs the reload for all.
bool is_said_by_another(const ServedParts& parts) {
  return parts.shared.stores > 1 && parts.config.partition().index > 0;
}
Log& log_of(ServedParts& parts) {
  return parts.shared.stores > 1 && !is_said_by_another(parts) ? parts.shared.log : parts.log;
}

/// Logs why the configuration was rejected; the status page and the service manager show it until a reload succeeds.
void refuse(ServedParts& parts, const std::string& why, std::string_view key) {
  std::vector<LogField> fields;
  if (!key.empty()) fields.emplace_back("reason", key);
  log_of(parts).write(is_said_by_another(parts) ? LogLevel::debug : LogLevel::error, "config_error",
                      "not reloaded: " + why, fields);
  if (parts.reload_refused.empty()) parts.reload_refused = why;
}

}  // namespace

asio::awaitable<void> reload(ServedParts& parts) {
  parts.on_each_loop([](IngestParts& loop) { loop.fetcher.reload(); });
  auto read = co_await run_on(parts.ingest.threads.pool(), [&] { return reload_config(parts.sources, parts.config); });
  parts.reload_refused.clear();
  if (read.has_error()) {
    for (const ConfigProblem& problem : read.error()) refuse(parts, to_string(problem), problem.key);
    co_return;
  }
  auto egress = egress_policies(read->config);
  if (!egress) {
    refuse(parts, egress.error(), "");
    co_return;
  }
  parts.restart_awaited = joined(read->restart);
  const auto touched = [&](std::string_view group) {
    return std::ranges::any_of(read->changed, [&](const std::string& key) { return key.starts_with(group); });
  };
  Config& config = parts.config;
  config = std::move(read->config);
  parts.configuration = configuration_digest(config);
  parts.on_each_loop([digests = common_digests(config)](IngestParts& loop) { loop.configuration = digests; });
  parts.log.set_level(config.log.level);
  set_secret_parameters(config.log.redact_params);
  parts.on_each_loop([refresh = refresh_options(config, parts.mode), drain = config.drain.timeout,
                      catch_up = config.schedule.catch_up_rate](IngestParts& loop) {
    loop.refresher.set_options(refresh);
    loop.worker.set_limits(refresh.host, catch_up, drain);
  });
  if (touched("fetch.") || touched("egress.") || touched("host.\"") || touched("feed_auth.")) {
    if (parts.push_out) parts.push_out->set_fetch_options(parts.push_out_fetch_options(*egress));
    parts.on_each_loop(
        [fetch = parts.fetch_options_with(std::move(*egress))](IngestParts& loop) { loop.fetcher.set_options(fetch); });
  }
  if (!read->changed.empty()) parts.requests.set_rules(request_rules(config));
  parts.looks.set_probe(probe_options(config));
  parts.api.set_config(config);  // tokens are in files, which may have changed even if the configuration did not
  if (touched("signals.")) {
    const auto cap = [records = config.signals.max_len, bytes = config.signals.max_bytes](Store& store) {
      store.set_signals_caps(records, bytes);
    };
    parts.other_loops.spawn([cap](IngestParts& loop) { return loop.store.for_each(cap); });
    co_await parts.ingest.store.for_each(cap);
  }
  if (parts.opened && touched("host")) {
    const std::vector<HostSettings> hosts = HostRules(config).settings();
    const StoreResult<void> known =
        co_await parts.ingest.store.call([&](Store& store) { return Hosts(store).set(hosts); });
    if (!known) parts.metrics.store_error(known.error());
  }
  log_of(parts).write(is_said_by_another(parts) ? LogLevel::debug : LogLevel::info, "reload",
                      "reloaded the configuration, the resolver's settings and this machine's addresses",
                      {{"changed", joined(read->changed)}, {"needs_restart", parts.restart_awaited}});
}

}  // namespace feedmill
