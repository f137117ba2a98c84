#include "worker/process/parts.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <curl/curl.h>

#include "worker/config/host_rules.hpp"
#include "worker/process/process_status.hpp"

namespace feedmill {

using SteadyClock = std::chrono::steady_clock;

namespace {

/// As many descriptors as we may have; how many that is.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? 1'000'000 : limit.rlim_cur;
}

StatusPages::Options page_options(const Config& config, const std::string& redis_url) {
  StatusPages::Options options;
  options.store = store_options(config, redis_url);
  options.rules = HostRules(config);
  return options;
}

}  // namespace

ProcessParts::ProcessParts(ProcessTask task, Log& the_log)
    : config(std::move(task.config)),
      sources(std::move(task.sources)),
      mode(task.mode),
      log(the_log),
      server(task.server),
      redis_url(std::move(task.redis_url)),
      descriptors(raise_descriptor_limit()),
      loops(mode != RunMode::selected && config.worker.ingest ? config.worker.threads : 1),
      lanes(std::min<std::size_t>(config.worker.lanes, lanes_within(descriptors / loops, config))),
      metrics({FEEDMILL_VERSION, curl_version_info(CURLVERSION_NOW)->version, ""}),
      memory(shared_memory(config)),
      id(std::move(task.id)),
      tell(std::move(task.tell)),
      ingest(
          loop.get_executor(), config,
          [&] {
            IngestTask first = ingest_task(id, task.egress);
            first.scope = std::move(task.scope);
            return first;
          }(),
          shared_by_first()),
      other_loops(loop.get_executor(), config, other_tasks(task.egress), shared_by_others()),
      pages(
          loop.get_executor(), page_options(config, redis_url), history, [this] { return process_status(*this); },
          [this](const char* what) { report_bug("page", what); }),
      deliver(loop.get_executor(), store_options(config, redis_url), deliver_options(config, id, mode), metrics, log),
      looks({.probe = probe_options(config), .at_once = 4}, memory),
      requests(loop.get_executor(), store_options(config, redis_url), request_options(config, id),
               request_rules(config), looks, metrics, log),
      api(
          loop.get_executor(), api_options(config, redis_url), config, looks, [this] { requests.look(); },
          [this](const char* what) { report_bug("api", what); }) {}

IngestTask ProcessParts::ingest_task(std::string worker, EgressPolicies egress) {
  IngestTask made;
  made.mode = mode;
  made.redis_url = redis_url;
  made.cpu_threads = reading_threads(config, loops);
  made.fetch = fetch_options_with(std::move(egress));
  made.worker = worker_options(config, std::move(worker), lanes);
  return made;
}

/// Each is a worker of its own, which the store tells apart.
std::vector<IngestTask> ProcessParts::other_tasks(const EgressPolicies& egress) {
  std::vector<IngestTask> tasks;
  while (tasks.size() + 1 < loops) {
    tasks.push_back(ingest_task(worker_id(id, tasks.size() + 1), egress));
    tasks.back().scope.once = mode == RunMode::once;
    tasks.back().worker.tells_of_eviction = false;
  }
  return tasks;
}

SharedByLoops ProcessParts::shared_by_first() {
  const auto ended = [this](const Report& report) {
    history.record(report, SteadyClock::now());
    if (tell) tell(report);
  };
  return {memory, metrics, log, outages, ended, [this](bool stored) { history.committed(stored, SteadyClock::now()); }};
}

/// The history is the first loop's.
SharedByLoops ProcessParts::shared_by_others() {
  SharedByLoops shared = shared_by_first();
  shared.ended = [this, ended = shared.ended](const Report& report) {
    boost::asio::post(loop, [ended, report] { ended(report); });
  };
  shared.committed = [this, committed = shared.committed](bool stored) {
    boost::asio::post(loop, [committed, stored] { committed(stored); });
  };
  return shared;
}

std::vector<Check> ProcessParts::live_checks() const {
  std::vector<Check> checks = ingest.liveness.checks();
  other_loops.add_to(checks);
  return checks;
}

std::string ProcessParts::state() const {
  if (ingest.worker.stopping()) return "draining";
  if (!opened) return "waiting for Redis: " + opening_trouble.detail;
  if (!outages.is_up()) return "Redis is away: " + outages.trouble();
  const auto address_of = [](const boost::asio::ip::tcp::endpoint& endpoint) {
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
  };
  std::string where = "ready";
  if (admin) where += ", http://" + address_of(admin->endpoint());
  if (api_listener) where += ", programs at http://" + address_of(api_listener->endpoint());
  if (websub && websub->callbacks()) where += ", callbacks at http://" + address_of(websub->callbacks()->endpoint());
  if (push_out && push_out->outside()) where += ", others at http://" + address_of(push_out->outside()->endpoint());
  if (!reload_refused.empty()) where += ", configuration not reloaded: " + reload_refused;
  return where;
}

FetchOptions ProcessParts::fetch_options_with(EgressPolicies egress) {
  FetchOptions made = fetch_options(config, std::move(egress), lanes, mode);
  made.keep_alive = kept_within(descriptors / loops, lanes) / (1 + config.egress_policies.size());  // each has its own
  made.resolver.tell = [this](Lookup became, std::chrono::duration<double> took) { metrics.looked_up(became, took); };
  return made;
}

FetchOptions ProcessParts::push_out_fetch_options(EgressPolicies egress) {
  FetchOptions made = fetch_options_with(std::move(egress));
  made.max_connections = config.push_out.at_once;
  made.keep_alive = std::min<std::size_t>(made.keep_alive, 2 * config.push_out.at_once);
  made.connect = std::min<std::chrono::milliseconds>(made.connect, config.push_out.timeout);
  return made;
}

void ProcessParts::report_bug(const char* part, const char* what) {
  metrics.bug();
  log.write(LogLevel::error, "bug", "an unexpected error; please report it", {{"part", part}, {"detail", what}});
}

}  // namespace feedmill
