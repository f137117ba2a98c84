#include "worker/process/parts.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <curl/curl.h>

#include "worker/config/host_rules.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/process/process_answers.hpp"

namespace feedmill {

using SteadyClock = std::chrono::steady_clock;

namespace {

/// Raises the soft limit of open descriptors to the hard limit and returns it.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? 1'000'000 : limit.rlim_cur;
}

StatusPages::Options page_options(const Config& config, const std::string& redis_url, bool among_others) {
  StatusPages::Options options;
  options.store = store_options(config, redis_url);
  options.rules = HostRules(config);
  if (among_others) options.prefix = path_of_partition(config.partition().index);
  return options;
}

}  // namespace

std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

ServedParts::ServedParts(ServeTask task, SharedByStores its_shared)
    : config(std::move(task.config)),
      sources(std::move(task.sources)),
      mode(task.mode),
      log(*task.log),
      server(task.server),
      redis_url(std::move(task.redis_url)),
      shared(std::move(its_shared)),
      descriptors(raise_descriptor_limit() / shared.stores),
      loops(loops_of(config, mode)),
      lanes(std::min<std::size_t>(config.worker.lanes,
                                  lanes_within(descriptors / loops, other_partitions(config, shared.stores)))),
      metrics({FEEDMILL_VERSION, curl_version_info(CURLVERSION_NOW)->version, ""}),
      loop(shared.loop),
      memory(shared.memory),
      id(std::move(task.id)),
      tell(std::move(task.tell)),
      ingest(
          loop.get_executor(), shared.reading, config,
          [&] {
            IngestTask first = ingest_task(id, task.egress);
            first.scope = std::move(task.scope);
            return first;
          }(),
          shared_by_first()),
      other_loops(loop.get_executor(), config, reading_threads(config, loops * shared.stores), other_tasks(task.egress),
                  shared_by_others()),
      pages(
          loop.get_executor(), page_options(config, redis_url, shared.stores > 1), history,
          [this] { return process_status(*this); }, [this](const char* what) { report_bug("page", what); }),
      deliver(loop.get_executor(), store_options(config, redis_url), deliver_options(config, id, mode, shared.stores),
              metrics, log),
      looks(shared.looks),
      requests(loop.get_executor(), store_options(config, redis_url), {.token = id, .keep = config.requests.keep},
               request_rules(config), wait_in_redis(shared.stores), looks, metrics, log),
      api(
          loop.get_executor(), api_options(config, redis_url), config, looks, shared.memory,
          [this](bool answered) { answered ? metrics.answered_requests(1) : requests.look(); },
          [this](const char* what) { report_bug("api", what); }) {}

IngestTask ServedParts::ingest_task(std::string worker, EgressPolicies egress) {
  IngestTask made;
  made.mode = mode;
  made.redis_url = redis_url;
  made.fetch = fetch_options_with(std::move(egress));
  made.worker = worker_options(config, std::move(worker), lanes, shared.stores);
  made.worker.yields = shared.stores > 1 && mode == RunMode::daemon;
  return made;
}

/// In the store, each loop is a separate worker.
std::vector<IngestTask> ServedParts::other_tasks(const EgressPolicies& egress) {
  std::vector<IngestTask> tasks;
  while (tasks.size() + 1 < loops) {
    tasks.push_back(ingest_task(worker_id(id, tasks.size() + 1), egress));
    tasks.back().scope.once = mode == RunMode::once;
    tasks.back().worker.tells_of_eviction = false;
  }
  return tasks;
}

/// Breaks calls that block in Redis: on its own, each connection would notice much later that the server is down. From
/// any thread.
void ServedParts::suspect_server() {
  boost::asio::post(loop, [this] {
    deliver.break_wait();
    requests.break_wait();
    on_each_loop([](IngestParts& one) { one.store.suspect_server(); });
  });
}

SharedByLoops ServedParts::shared_by_first() {
  const auto ended = [this](const Report& report) {
    history.record(report, SteadyClock::now());
    if (tell) tell(report);
  };
  return {memory, metrics, log, outages, ended, [this](bool stored) { history.committed(stored, SteadyClock::now()); }};
}

/// Only the first loop's thread may access the history.
SharedByLoops ServedParts::shared_by_others() {
  SharedByLoops others = shared_by_first();
  others.ended = [this, ended = others.ended](const Report& report) {
    boost::asio::post(loop, [ended, report] { ended(report); });
  };
  others.committed = [this, committed = others.committed](bool stored) {
    boost::asio::post(loop, [committed, stored] { committed(stored); });
  };
  return others;
}

std::vector<Check> ServedParts::live_checks() const {
  std::vector<Check> checks = ingest.liveness.checks();
  other_loops.add_to(checks);
  return checks;
}

std::string ServedParts::trouble() const {
  if (ingest.worker.stopping()) return "draining";
  if (!opened) return "waiting for Redis: " + opening_trouble.detail;
  if (!outages.is_up()) return "Redis is unavailable: " + outages.trouble();
  return "";
}

std::string ServedParts::remarks() const {
  std::string where;
  if (!reload_refused.empty()) where += ", configuration not reloaded: " + reload_refused;
  return where;
}

FetchOptions ServedParts::fetch_options_with(EgressPolicies egress) {
  FetchOptions made = fetch_options(config, std::move(egress), lanes, mode);
  made.keep_alive = kept_within(descriptors / loops, lanes) / (1 + config.egress_policies.size());  // one pool each
  made.resolver.tell = [this](Lookup became, std::chrono::duration<double> took) { metrics.looked_up(became, took); };
  return made;
}

FetchOptions ServedParts::push_out_fetch_options(EgressPolicies egress) {
  FetchOptions made = fetch_options_with(std::move(egress));
  made.max_connections = config.push_out.at_once;
  made.keep_alive = std::min<std::size_t>(made.keep_alive, std::size_t{2} * config.push_out.at_once);
  made.connect_timeout = std::min<std::chrono::milliseconds>(made.connect_timeout, config.push_out.timeout);
  return made;
}

void ServedParts::report_bug(const char* part, const char* what) {
  metrics.bug();
  log.write(LogLevel::error, "bug", "an unexpected error; please report it", {{"part", part}, {"detail", what}});
}

}  // namespace feedmill
