#include "worker/run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/resource.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <curl/curl.h>
#include <unistd.h>

#include "storage/test_point.hpp"
#include "worker/admin/admin.hpp"
#include "worker/admin/status_history.hpp"
#include "worker/admin/status_pages.hpp"
#include "worker/cancellation.hpp"
#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/config/run_options.hpp"
#include "worker/deliver_loop.hpp"
#include "worker/embedded_redis.hpp"
#include "worker/http/web_url.hpp"
#include "worker/liveness.hpp"
#include "worker/log.hpp"
#include "worker/metrics.hpp"
#include "worker/push/websub.hpp"
#include "worker/sd_notify.hpp"
#include "worker/survey.hpp"
#include "worker/worker.hpp"

namespace feedmill {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr Milliseconds heartbeat_every{5'000}, heartbeat_ttl{20'000}, figures_every{15'000};
constexpr Milliseconds leave_within{1'800};  // RELIABILITY D2 allows 2 s
constexpr Milliseconds ping_spacing = std::chrono::minutes(5);
constexpr std::size_t contact_needed_above = 1000;  // HTTP P19

std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08x", random());
    id += hex;
  }
  return id;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// As many descriptors as we may have; how many that is.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? 1'000'000 : limit.rlim_cur;
}

RefreshOptions traced(RefreshOptions options, RefreshTrace* trace) {
  options.trace = trace;
  return options;
}

StatusPages::Options page_options(const Config& config, const std::string& redis_url) {
  StatusPages::Options options;
  options.store = store_options(config, redis_url);
  options.rules = HostRules(config);
  return options;
}

/// The parts of a running worker, in the order they are built; destroyed in the reverse (RELIABILITY D3).
class Process {
 public:
  Process(const Config& config, ConfigSources sources, EgressPolicies egress, std::string redis_url,
          EmbeddedRedis* server, Log& log, RunMode mode, WorkerScope scope, std::function<void(const Report&)> tell,
          RefreshTrace* trace)
      : config_(config),
        sources_(std::move(sources)),
        mode_(mode),
        log_(log),
        server_(server),
        redis_url_(redis_url),
        lanes_(std::min<std::size_t>(config.worker.lanes, lanes_within(descriptors_))),
        cpu_(config.worker.cpu_threads),
        liveness_(cpu_),
        store_(loop_.get_executor(), store_options(config, redis_url), config.store.connections),
        memory_(config.memory.budget.value_or(automatic_memory_budget())),
        fetcher_(loop_.get_executor(), counted(fetch_options(config, std::move(egress), lanes_, mode))),
        refresher_(fetcher_, cpu_, store_, memory_, traced(refresh_options(config, mode), trace),
                   [this](const StoreResult<Committed>& result, std::chrono::duration<double> took) {
                     metrics_.committed(result);
                     worker_.note_commit(result, took);
                     history_.committed(result.has_value(), SteadyClock::now());
                   }),
        options_(worker_options(config, random_id(), lanes_)),
        worker_(loop_.get_executor(), refresher_, store_, metrics_, log, options_, std::move(scope),
                [this, tell = std::move(tell)](const Report& report) {
                  history_.record(report, SteadyClock::now());
                  if (tell) tell(report);
                }),
        pages_(
            loop_.get_executor(), page_options(config, redis_url), history_, [this] { return process_status(); },
            [this](const char* what) { report_bug("page", what); }),
        deliver_(loop_.get_executor(), store_options(config, std::move(redis_url)),
                 deliver_options(config, options_.id, mode), metrics_, log) {}

  ~Process() { cpu_.join(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Until the work is done or a signal stops it; the exit code.
  int run() {
    if (mode_ == RunMode::daemon && config_.admin.listen) {
      Admin::Options options;
      options.listen = *config_.admin.listen;
      options.token = config_.admin.token;
      auto opened = Admin::open(loop_.get_executor(), options, health(), pages_.pages());
      if (!opened) {
        log_.write(LogLevel::error, "config_error", opened.error().detail);
        return exits::configuration;
      }
      admin_ = std::move(*opened);
    }
    if (auto options = websub_options(config_, options_.id, mode_)) {
      auto opened = WebSub::open(loop_.get_executor(), store_options(config_, redis_url_), std::move(*options),
                                 {cpu_, fetcher_, store_, memory_, metrics_, log_});
      if (!opened) {
        log_.write(LogLevel::error, "config_error", opened.error().detail);
        return exits::configuration;
      }
      websub_ = std::move(*opened);
    }
    asio::co_spawn(loop_, run_until_done(), [this](const std::exception_ptr& error, int code) {
      if (error) std::rethrow_exception(error);
      exit_code_ = code;
      last_resort_.cancel();
    });
    loop_.run();
    return exit_code_;
  }

 private:
  asio::awaitable<int> run_until_done() {
    // What goes on beside the work ends by cancellation when the work has ended.
    const auto result = co_await (work() || beside());
    co_return result.index() == 0 ? std::get<0>(result) : exits::bug;
  }

  asio::awaitable<void> beside() {
    co_await (guarded("signals", obey_signals()) && guarded("hang-up", obey_hang_up()) &&
              guarded("heartbeat", beat()) && guarded("figures", watch_fleet()) && guarded("listener", serve_admin()) &&
              guarded("private server", supervise()) && guarded("ticks", liveness_.tick()) &&
              guarded("watchdog", feed_watchdog()));
  }

  /// One part's bug must not take the others along.
  asio::awaitable<void> guarded(const char* part, asio::awaitable<void> work) {
    try {
      co_await std::move(work);
    } catch (const std::exception& error) {
      if (!is_cancellation(std::current_exception())) report_bug(part, error.what());
    }
  }

  void report_bug(const char* part, const char* what) {
    metrics_.bug();
    log_.write(LogLevel::error, "bug", "an unexpected error; please report it", {{"part", part}, {"detail", what}});
  }

  /// Does not throw: run_until_done() would wait for ever.
  asio::awaitable<int> work() {
    try {
      co_return co_await serve_feeds();
    } catch (const std::exception& error) {
      report_bug("worker", error.what());
      co_return exits::bug;
    }
  }

  asio::awaitable<int> serve_feeds() {
    notify_.ready("waiting for Redis");  // RELIABILITY N1: a store that is away is no reason to be restarted
    if (const int code = co_await open_store(); code != exits::done || worker_.stopping()) co_return code;
    opened_ = true;
    metrics_.set_memory_budget(memory_.total());
    metrics_.set_redis_up(true);
    metrics_.set_ready(true);
    if (mode_ == RunMode::daemon) {
      log_.write(LogLevel::info, "ready", state(), {{"lanes", lanes_}});
    }
    notify_.status(state());
    const Worker::End end = co_await (ingest() && deliver() && push());
    if (server_ != nullptr) server_->interrupt();
    if (interrupted_) co_return exits::interrupted;
    switch (end) {
      case Worker::End::clean:
        co_return exits::done;
      case Worker::End::claims_left:
        co_return exits::unfinished;
      case Worker::End::store_away:
        co_return exits::unavailable;
    }
    co_return exits::bug;
  }

  /// The ingest half; when it is done, so is the other with what it left to deliver. Does not throw: nobody would tell
  /// the other half.
  asio::awaitable<Worker::End> ingest() {
    Worker::End end = Worker::End::store_away;
    try {
      if (config_.worker.ingest) {
        end = co_await worker_.run();
      } else {
        // Only delivering: a daemon until it is stopped, any other until what there is has been delivered.
        while (mode_ == RunMode::daemon && !worker_.stopping()) {
          idle_.expires_after(std::chrono::hours(1));
          co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        end = Worker::End::clean;
      }
    } catch (const std::exception& error) {
      report_bug("ingest", error.what());
    }
    deliver_.finish();
    co_return end;
  }

  asio::awaitable<void> deliver() {
    if (config_.worker.deliver) co_await guarded("deliver", deliver_.run());
  }

  asio::awaitable<void> push() {
    if (!websub_) co_return;
    if (worker_.stopping()) websub_->stop();  // told before it began
    co_await guarded("websub", websub_->run());
  }

  /// A known feed is to be fetched soon, once in five minutes (OPERATIONS §6).
  asio::awaitable<Pinged> ping(std::string text) {
    const auto url = canonical_feed_url(text);
    if (!url) co_return Pinged::no_url;
    if (!opened_) co_return Pinged::store_away;
    const auto ask = [&](Store& store) { return Pushes(store).ping(*url, ping_spacing); };
    const StoreResult<std::optional<Milliseconds>> at = co_await store_.call(ask);
    if (!at) metrics_.store_error(at.error());
    co_return !at ? Pinged::store_away : *at ? Pinged::noted : Pinged::unknown;
  }

  /// Connects and checks; a daemon waits for a store that is away, everything else says so and ends.
  asio::awaitable<int> open_store() {
    Milliseconds wait(50);
    for (bool told = false; !worker_.stopping();) {
      const std::vector<HostSettings> hosts = HostRules(config_).settings();
      const StoreResult<std::string> server = co_await store_.call([&](Store& store) {
        auto opened = store.open();
        if (!opened) return opened;
        if (mode_ == RunMode::selected) return opened;  // a verb may have been told less than the workers
        const auto known = store.set_hosts(hosts);      // HTTP H7
        return known ? opened : StoreResult<std::string>(known.error());
      });
      if (server) {
        metrics_.set_store(*server);
        co_return co_await check_contact();
      }
      const StoreError& error = server.error();
      const VerbFailure failure = failure_of(error);
      const bool hopeless = error.code == StoreError::Code::unsupported || error.code == StoreError::Code::auth ||
                            error.code == StoreError::Code::tls;
      if (hopeless || mode_ != RunMode::daemon) {
        log_.write(LogLevel::error, hopeless ? "config_error" : "redis_down", failure.text);
        co_return failure.exit;
      }
      metrics_.store_error(error);
      if (!told) log_.write(LogLevel::error, "redis_down", "waiting for Redis", {{"detail", error.detail}});
      told = true;
      store_wait_.expires_after(wait);
      wait = std::min(wait * 2, Milliseconds(5000));
      if (!worker_.stopping()) co_await store_wait_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return exits::done;
  }

  /// HTTP P19: whoever fetches much says whom to write to.
  asio::awaitable<int> check_contact() {
    const StoreResult<FleetFigures> figures = co_await store_.call([](Store& store) { return store.figures(); });
    if (!figures) co_return exits::done;  // the worker finds out by itself
    metrics_.set_fleet(*figures);
    if (figures->feeds <= contact_needed_above || !config_.fetch.contact.empty()) co_return exits::done;
    log_.write(LogLevel::error, "config_error",
               "fetch.contact is required above 1000 feeds: set it (--contact, FEEDMILL_CONTACT) to a URL where "
               "publishers can learn who fetches their feeds",
               {{"feeds", figures->feeds}});
    co_return exits::configuration;
  }

  /// The first SIGTERM or SIGINT drains, the second cancels (RELIABILITY D1, D2).
  asio::awaitable<void> obey_signals() {
    asio::signal_set signals(loop_, SIGTERM, SIGINT);
    for (;;) {
      co_await signals.async_wait(asio::use_awaitable);
      const bool first = !worker_.stopping();
      worker_.stop();
      test_point("S16");
      if (websub_) first ? websub_->stop() : websub_->hurry();
      idle_.cancel();
      store_wait_.cancel();
      if (!first) deliver_.stop();
      if (mode_ == RunMode::selected) {  // a verb does not drain: it gives back what it has and ends with 130
        interrupted_ = true;
        worker_.stop();
        deliver_.stop();
      }
      if (!first || mode_ == RunMode::selected) leave_soon();
      metrics_.set_draining(true);
      metrics_.set_ready(false);
      notify_.stopping(first ? "draining" : "stopping");
      if (mode_ != RunMode::daemon) continue;
      log_.write(LogLevel::info, first ? "drain" : "stop",
                 first ? "told to stop: refreshes in flight may finish; a second signal cancels them"
                       : "told to stop now: refreshes in flight are cancelled and given back",
                 {{"in_flight", worker_.in_flight()}});
    }
  }

  /// RELIABILITY D5, HTTP D8.
  asio::awaitable<void> obey_hang_up() {
    if (mode_ != RunMode::daemon) co_return;  // a verb ends with its terminal
    asio::signal_set signals(loop_, SIGHUP);
    for (;;) {
      co_await signals.async_wait(asio::use_awaitable);
      notify_.reloading();
      co_await reload();
      notify_.ready(state());
    }
  }

  /// What may change in the middle is taken over, the rest is named. A configuration that is refused changes nothing.
  asio::awaitable<void> reload() {
    fetcher_.reload();
    auto read = co_await run_on(cpu_, [&] { return reload_config(sources_, config_); });
    if (read.has_error()) {
      for (const ConfigProblem& problem : read.error()) {
        log_.write(LogLevel::error, "config_error", "not reloaded: " + to_string(problem), {{"reason", problem.key}});
      }
      co_return;
    }
    auto egress = egress_policies(read->config);
    if (!egress) {
      log_.write(LogLevel::error, "config_error", "not reloaded: " + egress.error());
      co_return;
    }
    const auto touched = [&](std::string_view group) {
      return std::ranges::any_of(read->changed, [&](const std::string& key) { return key.starts_with(group); });
    };
    config_ = std::move(read->config);
    log_.set_level(config_.log.level);
    refresher_.set_options(refresh_options(config_, mode_));
    worker_.set_limits({config_.host.concurrency, config_.host.spacing}, config_.schedule.catch_up_rate,
                       config_.drain.timeout);
    if (touched("fetch.") || touched("egress.") || touched("host.\"")) {
      fetcher_.set_options(counted(fetch_options(config_, std::move(*egress), lanes_, mode_)));
    }
    if (touched("signals.")) {
      co_await store_.for_each([&](Store& store) { store.set_signals_max_len(config_.signals.max_len); });
    }
    if (opened_ && touched("host")) {
      const std::vector<HostSettings> hosts = HostRules(config_).settings();
      const StoreResult<void> known = co_await store_.call([&](Store& store) { return store.set_hosts(hosts); });
      if (!known) metrics_.store_error(known.error());
    }
    log_.write(LogLevel::info, "reload", "read the configuration, the resolver's and this machine's addresses again",
               {{"changed", joined(read->changed)}, {"needs_restart", joined(read->restart)}});
  }

  static std::string joined(const std::vector<std::string>& keys) {
    std::string text;
    for (const std::string& key : keys) text.append(text.empty() ? "" : " ").append(key);
    return text;
  }

  /// What the service manager is told of us.
  std::string state() const {
    if (worker_.stopping()) return "draining";
    if (!opened_) return "waiting for Redis";
    if (!worker_.store_is_usable()) return "Redis is away: " + worker_.store_trouble();
    std::string where = "ready";
    if (admin_) where += ", http://" + address_of(admin_->endpoint());
    if (websub_ && websub_->callbacks()) {
      where += ", callbacks at http://" + address_of(websub_->callbacks()->endpoint());
    }
    return where;
  }

  FetchOptions counted(FetchOptions options) {
    options.resolver.tell = [this](Lookup became, std::chrono::duration<double> took) {
      metrics_.looked_up(became, took);
    };
    return options;
  }

  /// RELIABILITY D2: a store that does not answer must not keep us; the leases run out by themselves.
  void leave_soon() {
    if (std::exchange(leaving_, true)) return;
    last_resort_.expires_after(leave_within);
    last_resort_.async_wait([this](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      constexpr char text[] = "feedmill: Redis does not answer; claims stay until their lease ends\n";
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
      std::_Exit(interrupted_ ? exits::interrupted : exits::unfinished);
    });
  }

  /// Only a daemon counts as a worker: the others take what they were told to and nothing else.
  asio::awaitable<void> beat() {
    if (mode_ != RunMode::daemon || !config_.worker.ingest) co_return;  // others count on it to fetch
    asio::steady_timer timer(loop_);
    for (;;) {
      if (opened_ && !worker_.stopping()) {
        const Fields fields{{"host", host_name()},
                            {"pid", std::to_string(getpid())},
                            {"version", FEEDMILL_VERSION},
                            {"in_flight", std::to_string(worker_.in_flight())}};
        const auto work = [&](Store& store) { return store.heartbeat(options_.id, fields, heartbeat_ttl); };
        const StoreResult<void> done = co_await store_.call(work);
        if (!done) metrics_.store_error(done.error());
      }
      timer.expires_after(opened_ ? heartbeat_every : Milliseconds(100));
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  asio::awaitable<void> watch_fleet() {
    asio::steady_timer timer(loop_);
    Survey survey;
    std::string told;
    std::uint64_t reconnects = 0;
    for (;;) {
      timer.expires_after(opened_ ? figures_every : Milliseconds(100));
      co_await timer.async_wait(asio::use_awaitable);
      if (!opened_) continue;
      const StoreResult<FleetFigures> figures = co_await store_.call([](Store& store) { return store.figures(); });
      if (figures) {
        metrics_.set_fleet(*figures);
        worker_.set_fleet(*figures);
      }
      const StoreResult<StreamFigures> stream =
          co_await store_.call([](Store& store) { return store.trim_stream(); });
      if (stream) metrics_.set_stream(*stream);
      co_await store_.call([](Store& store) { return store.finish_removals(); });  // RELIABILITY S15
      if (config_.worker.ingest) {
        const StoreResult<void> fit = co_await store_.call([](Store& store) { return store.check_eviction(); });
        co_await worker_.note_fitness(fit);  // RELIABILITY §6: at least every 60 s
      }
      const auto oldest = co_await store_.call([&](Store& store) { return survey.step(store); });
      if (oldest) metrics_.set_oldest_success(*oldest);
      metrics_.set_log_suppressed(log_.suppressed());
      metrics_.set_ready(is_ready());
      if (told != state()) notify_.status(told = state());
      metrics_.reconnected(store_.reconnects() - reconnects);
      reconnects = store_.reconnects();
    }
  }

  asio::awaitable<void> serve_admin() {
    if (admin_) {
      co_await admin_->serve();
    }
  }

  asio::awaitable<void> supervise() {
    if (server_ == nullptr || mode_ != RunMode::daemon) co_return;
    const auto tell = [this](const EmbeddedEvent& event) { log_.write(event.level, "redis", event.detail); };
    co_await server_->supervise(side_, tell);
  }

  /// RELIABILITY N1.
  asio::awaitable<void> feed_watchdog() {
    const auto every = notify_.watchdog_interval();
    if (!every) co_return;
    asio::steady_timer timer(loop_);
    for (;;) {
      if (liveness_.alive()) notify_.watchdog();
      timer.expires_after(*every);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  bool is_ready() const { return opened_ && !worker_.stopping() && worker_.store_is_usable(); }

  std::vector<Check> ready_checks() const {
    const std::string trouble = opened_ ? worker_.store_trouble() : "not connected yet";
    return {{"redis", opened_ && worker_.store_is_usable(), trouble}, {"not_draining", !worker_.stopping(), ""}};
  }

  Health health() {
    Health health;
    health.live = [this] { return liveness_.checks(); };
    health.ready = [this] { return ready_checks(); };
    health.metrics = [this] {
      metrics_.set_inflight_bytes(memory_.used());
      metrics_.set_unacknowledged_bytes(refresher_.unanswered_bytes());
      return metrics_.text();
    };
    health.ping = [this](std::string url) { return ping(std::move(url)); };
    return health;
  }

  ProcessStatus process_status() {
    ProcessStatus status;
    status.worker = options_.id;
    status.host = host_name();
    status.version = FEEDMILL_VERSION;
    status.pid = getpid();
    status.configuration = configuration_;
    status.clock = std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    status.ready = ready_checks();
    status.stopping = worker_.stopping();
    if (!opened_)
      status.store_trouble = StoreError{StoreError::Code::unavailable, "not connected yet"};
    else if (!worker_.store_is_usable())
      status.store_trouble = worker_.store_error();
    status.ingest = config_.worker.ingest;
    status.deliver = config_.worker.deliver;
    status.lanes_busy = worker_.in_flight();
    status.lanes = lanes_;
    status.memory_used = memory_.used();
    status.memory_budget = memory_.total();
    status.memory_resident = resident_memory();
    status.log_suppressed = log_.suppressed();
    return status;
  }

  static std::string address_of(const asio::ip::tcp::endpoint& endpoint) {
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
  }

  Config config_;  // SIGHUP changes it
  const ConfigSources sources_;
  const RunMode mode_;
  Log& log_;
  EmbeddedRedis* server_;  // null: a Redis of the operator's own; outlives us
  const std::string redis_url_;
  std::size_t descriptors_ = raise_descriptor_limit();
  std::size_t lanes_;
  const std::string configuration_ = configuration_digest(config_);
  Metrics metrics_{{FEEDMILL_VERSION, curl_version_info(CURLVERSION_NOW)->version, ""}};
  SdNotify notify_ = SdNotify::from_environment();
  asio::io_context loop_{1};
  asio::steady_timer store_wait_{loop_};   // between two attempts to reach the store at the start
  asio::steady_timer idle_{loop_};         // while only delivering
  asio::steady_timer last_resort_{loop_};  // after the second signal
  bool leaving_ = false, interrupted_ = false;
  asio::thread_pool side_{1};  // blocking odds and ends of the private server
  asio::thread_pool cpu_;
  Liveness liveness_;
  StorePool store_;
  MemoryBudget memory_;
  StatusHistory history_{SteadyClock::now()};
  Fetcher fetcher_;
  Refresher refresher_;
  WorkerOptions options_;
  Worker worker_;
  StatusPages pages_;
  DeliverLoop deliver_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<WebSub> websub_;  // null: no hub is subscribed to
  bool opened_ = false;
  int exit_code_ = exits::bug;
};

int run_process(const Config& config, ConfigSources sources, RunMode mode, WorkerScope scope,
                std::function<void(const Report&)> tell, RefreshTrace* trace = nullptr) {
  std::signal(SIGPIPE, SIG_IGN);  // RELIABILITY D6
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // SECURITY K4
  Log::Options log_options;
  log_options.level = mode == RunMode::selected ? LogLevel::error : config.log.level;
  log_options.format = config.log.format;
  Log log(std::move(log_options));

  auto egress = egress_policies(config);
  if (!egress) {
    log.write(LogLevel::error, "config_error", egress.error());
    return exits::configuration;
  }

  std::unique_ptr<EmbeddedRedis> server;
  std::string url = config.redis.url;
  if (config.embedded()) {
    EmbeddedRedis::Options options;
    options.data_dir = config.store.data_dir;
    options.wait_until_loaded = mode != RunMode::daemon;  // a daemon is not ready meanwhile (RELIABILITY R7)
    auto opened = EmbeddedRedis::open(std::move(options));
    if (!opened) {
      log.write(LogLevel::error, "redis_down", opened.error().detail);
      return exit_code(opened.error().code);
    }
    server = std::move(*opened);
    url = server->url();
    if (mode == RunMode::daemon) {
      log.write(LogLevel::info, "start",
                (server->adopted() ? "uses the running private " : "started a private ") + server->server(),
                {{"pid", server->pid()}, {"url", url}});
    }
  }
  return Process(config, std::move(sources), std::move(*egress), std::move(url), server.get(), log, mode,
                 std::move(scope), std::move(tell), trace)
      .run();
}

}  // namespace

int run(const Config& config, const ConfigSources& sources, bool once) {
  return run_process(config, sources, once ? RunMode::once : RunMode::daemon, WorkerScope{once, {}}, {});
}

int refresh_in_process(const Config& config, const std::vector<std::string>& feed_urls,
                       std::function<void(const Report&)> tell, RefreshTrace* trace) {
  return run_process(config, {}, RunMode::selected, WorkerScope{false, feed_urls}, std::move(tell), trace);
}

}  // namespace feedmill
