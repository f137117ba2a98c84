#include "worker/process/run.hpp"

#include <csignal>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/process/process.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {
namespace {

/// Disables core dumps unless `core` is set: memory contains secrets (SECURITY K4).
void keep_memory_private(bool core) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = core ? limit.rlim_max : 0;
  if (!core) limit.rlim_max = 0;
  setrlimit(RLIMIT_CORE, &limit);
  prctl(PR_SET_DUMPABLE, core ? 1 : 0);
}

/// The signals that end a process of this mode. Closing the terminal ends all modes except the daemon and a `run
/// --once` that was started with nohup.
BlockedPosixSignals stop_signals(RunMode mode) {
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  return mode == RunMode::once && hangup.sa_handler != SIG_IGN ? BlockedPosixSignals({SIGTERM, SIGINT, SIGHUP})
                                                               : BlockedPosixSignals({SIGTERM, SIGINT});
}

/// Starts or adopts the private server. If that fails, logs the reason and returns an exit code.
boost::system::result<std::unique_ptr<EmbeddedRedis>, int> open_private_server(const Config& config, RunMode mode,
                                                                               BlockedPosixSignals& stop, Log& log) {
  using Opened = boost::system::result<std::unique_ptr<EmbeddedRedis>, int>;
  EmbeddedRedis::Options options;
  options.data_dir = config.store.data_dir;
  options.max_memory = memory_plan(config).private_server;
  options.wait_until_loaded = mode != RunMode::daemon;  // a daemon is not ready while it loads (RELIABILITY R7)
  options.give_up = [&stop] { return stop.is_waiting(); };
  options.leave = [&stop] { return stop.take().has_value(); };  // RELIABILITY D2
  auto opened = EmbeddedRedis::open(std::move(options));
  if (opened) {
    if (const std::string warning = (*opened)->warning(); !warning.empty()) {
      log.write(LogLevel::warn, "config", warning);
    }
    if (mode == RunMode::daemon) {
      const EmbeddedRedis& server = **opened;
      log.write(LogLevel::info, "start",
                (server.adopted() ? "using the running private " : "started a private ") + server.server(),
                {{"pid", server.pid()}, {"url", server.url()}});
    }
    return Opened(boost::system::in_place_value, std::move(*opened));
  }
  if (opened.error().code != EmbeddedError::Code::interrupted) {
    log.write(LogLevel::error, "redis_down", opened.error().detail);
    return Opened(boost::system::in_place_error, exit_code(opened.error().code));
  }
  log.write(LogLevel::info, "stop", opened.error().detail);
  SdNotify::from_environment().stopping("stopping");
  return Opened(boost::system::in_place_error, mode == RunMode::selected ? exits::interrupted : exits::done);
}

/// Why the limits of this process are too low for its loops; "" if they suffice.
std::string objection_to_limits(const Config& config) {
  const std::size_t stores = stores_of(config);
  const std::string what = stores > 1 ? fmt::format("serving {} partitions", stores)
                                      : fmt::format("worker.threads = {}", config.worker.threads);
  const std::string_view or_less =
      stores > 1 ? "or run one process per partition (--partition)" : "or lower worker.threads or store.connections";
  const auto tasks = cgroup_limit("pids.max");
  const std::size_t threads = least_tasks(config);
  if ((stores > 1 || config.worker.threads > 1) && tasks && *tasks < threads) {
    return fmt::format(
        "{} needs at least {} threads, but this service may have {}: raise its limit (TasksMax=, --pids-limit), {}",
        what, threads, *tasks, or_less);
  }
  const std::size_t files = descriptor_limit(), least = least_descriptors(config);
  if (files == 0 || files >= least) return "";
  return fmt::format(
      "{} needs at least {} files and sockets, but this process may have {}: raise its limit (LimitNOFILE=, ulimit "
      "-Hn), {}",
      what, least, files, or_less);
}

/// One task per partition; just `task` if the configuration names a partition or there is only one.
std::vector<ServeTask> in_partitions(ServeTask task) {
  std::vector<ServeTask> tasks;
  if (stores_of(task.config) == 1) {
    tasks.push_back(std::move(task));
    return tasks;
  }
  for (Config& its : task.config.of_each_partition()) {
    ServeTask& one = tasks.emplace_back(task);
    one.sources.flags["redis.partition"] = std::to_string(*its.redis.partition);  // for reloads
    one.config = std::move(its);
  }
  return tasks;
}

int run_process(ServeTask task) {
  BlockedPosixSignals stop = stop_signals(task.mode);  // first, so that threads inherit the blocked signals
  std::signal(SIGPIPE, SIG_IGN);                       // RELIABILITY D5
  keep_memory_private(task.config.debug.core);
  const std::string objection = task.mode == RunMode::selected ? "" : objection_to_limits(task.config);
  std::vector<ServeTask> tasks = in_partitions(std::move(task));
  std::vector<std::unique_ptr<Log>> logs;
  const auto writer = std::make_shared<LogWriter>(Log::Options().fd);
  for (ServeTask& one : tasks) {
    Log::Options options;
    options.level = one.mode == RunMode::selected ? LogLevel::error : one.config.log.level;
    options.format = one.config.log.format;
    options.worker = one.id = worker_id();
    if (!one.config.partition().is_whole()) options.partition = one.config.partition().index;
    one.log = logs.emplace_back(std::make_unique<Log>(std::move(options), writer)).get();
  }
  ServeTask& first = tasks.front();
  if (tasks.size() > 1) {  // for messages about all stores
    Log::Options options;
    options.level = first.config.log.level;
    options.format = first.config.log.format;
    options.worker = first.id;
    logs.push_back(std::make_unique<Log>(std::move(options), writer));
  }
  Log& log = *logs.back();
  const auto refuse = [&](const std::string& why) {
    log.write(LogLevel::error, "config_error", why);
    return exits::configuration;
  };
  if (!objection.empty()) return refuse(objection);
  const auto egress = egress_policies(first.config);
  if (!egress) return refuse(egress.error());
  std::unique_ptr<EmbeddedRedis> server;
  if (first.config.embedded()) {
    auto opened = open_private_server(first.config, first.mode, stop, log);
    if (!opened) return opened.error();
    server = std::move(*opened);
  }
  for (ServeTask& one : tasks) {
    one.egress = *egress;
    one.server = server.get();
    one.redis_url = server ? server->url() : one.config.redis.url;
  }
  return Process(std::move(tasks), log, stop).run();
}

}  // namespace

int run(const Config& config, const ConfigSources& sources, bool once) {
  ServeTask task;
  task.config = config;
  task.sources = sources;
  task.mode = once ? RunMode::once : RunMode::daemon;
  task.scope.once = once;
  return run_process(std::move(task));
}

int refresh_in_process(const Config& config, const std::vector<std::string>& feed_urls,
                       std::function<void(const Report&)> tell, TraceText* trace) {
  ServeTask task;
  task.config = config;
  task.mode = RunMode::selected;
  task.scope.only = feed_urls;
  task.scope.trace = trace;
  task.tell = std::move(tell);
  return run_process(std::move(task));
}

}  // namespace feedmill
