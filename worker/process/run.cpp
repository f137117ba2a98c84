#include "worker/process/run.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <utility>

#include <fmt/format.h>

#include "worker/base/cgroup.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/log.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/process/process.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/sd_notify.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {
namespace {

/// SECURITY K4: memory holds secrets.
void keep_memory_private(bool core) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = core ? limit.rlim_max : 0;
  if (!core) limit.rlim_max = 0;
  setrlimit(RLIMIT_CORE, &limit);
  prctl(PR_SET_DUMPABLE, core ? 1 : 0);
}

/// What tells a process of this mode to end. The end of its terminal ends all but a daemon, `run --once` like the
/// others, unless it was started to outlive it (nohup).
BlockedPosixSignals stop_signals(RunMode mode) {
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  return mode == RunMode::once && hangup.sa_handler != SIG_IGN ? BlockedPosixSignals({SIGTERM, SIGINT, SIGHUP})
                                                               : BlockedPosixSignals({SIGTERM, SIGINT});
}

/// Started or adopted, with an exit code instead when that cannot be.
boost::system::result<std::unique_ptr<EmbeddedRedis>, int> open_private_server(const Config& config, RunMode mode,
                                                                               BlockedPosixSignals& stop, Log& log) {
  using Opened = boost::system::result<std::unique_ptr<EmbeddedRedis>, int>;
  EmbeddedRedis::Options options;
  options.data_dir = config.store.data_dir;
  options.max_memory = memory_plan(config).private_server;
  options.wait_until_loaded = mode != RunMode::daemon;  // a daemon is not ready meanwhile (RELIABILITY R7)
  options.give_up = [&stop] { return stop.is_waiting(); };
  options.leave = [&stop] { return stop.take().has_value(); };  // RELIABILITY D2
  auto opened = EmbeddedRedis::open(std::move(options));
  if (opened) {
    if (mode == RunMode::daemon) {
      const EmbeddedRedis& server = **opened;
      log.write(LogLevel::info, "start",
                (server.adopted() ? "uses the running private " : "started a private ") + server.server(),
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

int run_process(ProcessTask task) {
  BlockedPosixSignals stop = stop_signals(task.mode);  // first: threads hold what their starter holds
  std::signal(SIGPIPE, SIG_IGN);                       // RELIABILITY D6
  keep_memory_private(task.config.debug.core);
  Log::Options log_options;
  log_options.level = task.mode == RunMode::selected ? LogLevel::error : task.config.log.level;
  log_options.format = task.config.log.format;
  log_options.worker = task.id = worker_id();
  Log log(std::move(log_options));

  const auto tasks = cgroup_limit("pids.max");
  if (task.mode != RunMode::selected && task.config.worker.threads > 1 && tasks && *tasks < most_tasks(task.config)) {
    log.write(LogLevel::error, "config_error",
              fmt::format("worker.threads = {} takes up to {} threads, and this service may have {}: raise its limit "
                          "(TasksMax=, --pids-limit), or lower worker.threads or store.connections",
                          task.config.worker.threads, most_tasks(task.config), *tasks));
    return exits::configuration;
  }
  const std::size_t files = descriptor_limit(), least = least_descriptors(task.config);
  if (task.mode != RunMode::selected && files > 0 && files < least) {
    log.write(
        LogLevel::error, "config_error",
        fmt::format("worker.threads = {} takes {} files and sockets at least, and this process may have {}: raise "
                    "its limit (LimitNOFILE=, ulimit -Hn), or lower worker.threads or store.connections",
                    task.config.worker.threads, least, files));
    return exits::configuration;
  }
  auto egress = egress_policies(task.config);
  if (!egress) {
    log.write(LogLevel::error, "config_error", egress.error());
    return exits::configuration;
  }
  task.egress = std::move(*egress);

  std::unique_ptr<EmbeddedRedis> server;
  task.redis_url = task.config.redis.url;
  if (task.config.embedded()) {
    auto opened = open_private_server(task.config, task.mode, stop, log);
    if (!opened) return opened.error();
    server = std::move(*opened);
    task.server = server.get();
    task.redis_url = server->url();
  }
  return Process(std::move(task), log, stop).run();
}

}  // namespace

int run(const Config& config, const ConfigSources& sources, bool once) {
  ProcessTask task;
  task.config = config;
  task.sources = sources;
  task.mode = once ? RunMode::once : RunMode::daemon;
  task.scope.once = once;
  return run_process(std::move(task));
}

int refresh_in_process(const Config& config, const std::vector<std::string>& feed_urls,
                       std::function<void(const Report&)> tell, RefreshTrace* trace) {
  ProcessTask task;
  task.config = config;
  task.mode = RunMode::selected;
  task.scope.only = feed_urls;
  task.scope.trace = trace;
  task.tell = std::move(tell);
  return run_process(std::move(task));
}

}  // namespace feedmill
