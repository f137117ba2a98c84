#include "worker/process/reloading.hpp"

#include <algorithm>

#include "storage/feeds/hosts.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/host_rules.hpp"

namespace feedmill {

namespace asio = boost::asio;

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

/// Logs the rejection once; the page and the service manager show it until a reload succeeds.
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
  parts.log.set_level(config.log.level);
  set_secret_parameters(config.log.redact_params);
  parts.on_each_loop([refresh = refresh_options(config, parts.mode), drain = config.drain.timeout,
                      catch_up = config.schedule.catch_up_rate](IngestParts& loop) {
    loop.refresher.set_options(refresh);
    loop.worker.set_limits(refresh.host, catch_up, drain);
  });
  if (touched("fetch.") || touched("egress.") || touched("host.\"")) {
    if (parts.push_out) parts.push_out->set_fetch_options(parts.push_out_fetch_options(*egress));
    parts.on_each_loop(
        [fetch = parts.fetch_options_with(std::move(*egress))](IngestParts& loop) { loop.fetcher.set_options(fetch); });
  }
  if (!read->changed.empty()) parts.requests.set_rules(request_rules(config));
  parts.looks.set_probe(probe_options(config));
  parts.api.set_config(config);  // its tokens are in files, which may have changed
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
