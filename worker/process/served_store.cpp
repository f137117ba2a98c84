#include "worker/process/served_store.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/coroutines.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/host_rules.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/process/fleet_watch.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

void tell_of_few_files(const ServedParts& parts) {
  const std::size_t wanted = parts.config.worker.lanes;
  if (parts.lanes >= wanted) return;
  parts.shared.log.write(
      LogLevel::warn, "few_files",
      fmt::format("only {} of {} lanes{} are usable with this process's file limit: raise the limit (LimitNOFILE=, "
                  "ulimit -Hn) or lower worker.lanes to {}",
                  parts.lanes, wanted, lanes_of_each(parts.shared.stores, parts.loops), parts.lanes));
}

}  // namespace

ServedStore::ServedStore(ServeTask task, SharedByStores shared)
    : parts_(std::move(task), std::move(shared)), stopping_(parts_) {
  const Config& config = parts_.config;
  const auto executor = parts_.loop.get_executor();
  if (auto options = websub_options(config, parts_.id, parts_.mode)) {
    options->intake.tell = [this](const Report& report) {
      parts_.history.record_push(report, std::chrono::steady_clock::now());
    };
    const WebSub::Parts with{parts_.ingest.refresher,
                             parts_.ingest.threads,
                             parts_.ingest.fetcher,
                             parts_.ingest.store,
                             parts_.memory,
                             parts_.metrics,
                             parts_.log};
    parts_.websub =
        std::make_unique<WebSub>(executor, store_options(config, parts_.redis_url), std::move(*options), with);
  }
  if (auto options = push_out_options(config, parts_.id, parts_.mode, parts_.descriptors, parts_.shared.stores)) {
    options->fetch = parts_.push_out_fetch_options(*egress_policies(config));
    parts_.push_out = std::make_unique<PushOut>(executor, store_options(config, parts_.redis_url), std::move(*options),
                                                parts_.shared.push_out, parts_.metrics, parts_.log);
  }
}

asio::awaitable<int> ServedStore::run() {
  has_begun_ = true;
  // The end of the work cancels the parallel tasks.
  const auto result = co_await (work() || beside());
  const int code = result.index() == 0 ? std::get<0>(result) : exits::bug;
  ended_ = true;
  stopping_.ended(code);
  co_return code;
}

asio::awaitable<void> supervise(ServedParts& parts) {
  if (parts.server == nullptr || parts.mode != RunMode::daemon) co_return;
  const auto tell = [&parts](const EmbeddedEvent& event) { parts.log.write(event.level, "notice", event.detail); };
  co_await parts.server->supervise(parts.side, tell);
}

asio::awaitable<void> ServedStore::beside() {
  co_await (guarded("heartbeat", heartbeat()) && guarded("figures", watch_fleet(parts_)) &&
            guarded("ticks", parts_.ingest.liveness.tick()));
}

asio::awaitable<void> ServedStore::guarded(const char* part, asio::awaitable<void> work) {
  try {
    co_await std::move(work);
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(parts_, error);
    if (!is_cancellation(std::current_exception())) parts_.report_bug(part, error.what());
  }
}

/// Does not throw; otherwise run() would never end.
asio::awaitable<int> ServedStore::work() {
  int code = exits::bug;
  try {
    code = co_await serve_feeds();
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(parts_, error);
    parts_.report_bug("worker", error.what());
  }
  if (parts_.server != nullptr) parts_.server->interrupt();  // it may still be loading its files
  co_return stopping_.interrupted() && code != exits::bug ? exits::interrupted : code;
}

asio::awaitable<int> ServedStore::serve_feeds() {
  parts_.shared.notify.ready(parts_.shared.state());  // RELIABILITY N1: an outage is not a reason for a restart
  const int code = co_await open_store(parts_);
  if (code != exits::done || parts_.ingest.worker.stopping()) co_return code;
  parts_.opened = true;
  parts_.metrics.set_memory_budget(parts_.memory.total());
  parts_.metrics.set_redis_up(true);
  if (parts_.mode == RunMode::daemon) {
    const std::string state = parts_.shared.state();  // with several stores, the last one to open logs it
    std::vector<LogField> fields{{"lanes", parts_.all_lanes()}, {"loops", parts_.loops}};
    if (parts_.shared.stores > 1) fields.emplace_back("partitions", parts_.shared.stores);
    const bool ready = state.starts_with("ready");
    parts_.shared.log.write(ready ? LogLevel::info : LogLevel::debug, "ready", state, fields);
    if (ready) tell_of_few_files(parts_);
  }
  parts_.shared.notify.status(parts_.shared.state());
  const Worker::End end = co_await (ingest() && deliver() && push() && push_out() && answer_requests());
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

/// Runs the ingest half; when it ends, delivery finishes its backlog and ends. Does not throw; otherwise delivery would
/// not end.
asio::awaitable<Worker::End> ServedStore::ingest() {
  Worker::End end = Worker::End::store_away;
  try {
    if (parts_.config.worker.ingest) {
      if (parts_.mode == RunMode::once) {
        co_await guarded("requests", parts_.requests.run(true));  // feeds added by requests are due at once
        co_await guarded("orphans", look_after_orphans(parts_));
      }
      end = co_await fetch();
    } else {
      // Deliver only: a daemon until it is stopped, the other modes until the backlog is delivered.
      while (parts_.mode == RunMode::daemon && !parts_.ingest.worker.stopping()) {
        parts_.nap.expires_after(std::chrono::hours(1));
        co_await parts_.nap.async_wait(asio::as_tuple(asio::use_awaitable));
      }
      if (parts_.mode == RunMode::daemon && parts_.outages.is_up())
        co_await parts_.ingest.store.call([this](Store& store) { return Fleet(store).retire(parts_.id); });
      end = Worker::End::clean;
    }
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(parts_, error);
    parts_.report_bug("ingest", error.what());
  }
  parts_.requests.stop();
  parts_.deliver.finish();
  co_return end;
}

/// Fetches on every loop until all loops have ended. An exception on one loop stops the others.
asio::awaitable<Worker::End> ServedStore::fetch() {
  const Partition partition = parts_.config.partition();  // a copy: SIGHUP may replace the configuration
  const auto beside = [this, partition](IngestParts& loop) -> asio::awaitable<void> {
    if (parts_.mode == RunMode::daemon)
      co_await (guarded("heartbeat", beat(loop, partition, parts_.shared.stores, parts_.metrics)) &&
                guarded("ticks", loop.liveness.tick()));
    else
      co_await guarded("ticks", loop.liveness.tick());
  };
  const auto stop_all = [this] { parts_.on_each_loop([](IngestParts& loop) { loop.worker.stop(); }); };
  Worker::End end = Worker::End::store_away;
  std::exception_ptr error;
  try {
    parts_.other_loops.start(parts_.ingest.refresher.options().reading.store_id, beside, stop_all);
    end = co_await parts_.ingest.worker.run();
  } catch (...) {
    error = std::current_exception();
  }
  if (error) stop_all();
  end = std::max(end, co_await parts_.other_loops.ended());
  if (error) std::rethrow_exception(error);
  co_return end;
}

/// Sends heartbeats, but only from a daemon: other processes rely on one that fetches.
asio::awaitable<void> ServedStore::heartbeat() {
  if (parts_.mode != RunMode::daemon) co_return;
  asio::steady_timer timer(parts_.loop);
  while (!parts_.opened) {
    timer.expires_after(std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_await beat(parts_.ingest, parts_.config.partition(), parts_.shared.stores, parts_.metrics);
}

asio::awaitable<void> ServedStore::deliver() {
  if (parts_.config.worker.deliver) co_await guarded("deliver", parts_.deliver.run());
}

/// Executes queued requests, in parallel with fetching.
asio::awaitable<void> ServedStore::answer_requests() {
  if (parts_.mode != RunMode::daemon || !parts_.config.worker.ingest) co_return;
  if (parts_.ingest.worker.stopping()) parts_.requests.stop();  // stop() came before the start
  co_await guarded("requests", parts_.requests.run(false));
}

asio::awaitable<void> ServedStore::push() {
  if (!parts_.websub) co_return;
  if (parts_.ingest.worker.stopping()) parts_.websub->stop();  // stop() came before the start
  co_await guarded("websub", parts_.websub->run());
}

asio::awaitable<void> ServedStore::push_out() {
  if (!parts_.push_out) co_return;
  if (parts_.ingest.worker.stopping()) parts_.push_out->stop();  // stop() came before the start
  co_await guarded("push_out", parts_.push_out->run());
}

namespace {

constexpr Milliseconds first_wait{50}, longest_wait{5'000};

/// HTTP P19: a worker with many feeds must have a contact for publishers. Returns an exit code.
asio::awaitable<int> check_contact(ServedParts& parts) {
  const StoreResult<FleetFigures> figures =
      co_await parts.ingest.store.call([](Store& store) { return Fleet(store).figures(); });
  if (!figures) co_return exits::done;  // the worker will report the error
  parts.metrics.set_fleet(*figures);
  parts.fleet = *figures;
  if (figures->feeds <= feeds_without_contact || !parts.config.fetch.contact.empty()) co_return exits::done;
  parts.log.write(LogLevel::error, "config_error",
                  "fetch.contact is required above 1000 feeds: set it (--contact, FEEDMILL_FETCH_CONTACT) to a contact "
                  "URL for publishers",
                  {{"feeds", figures->feeds}});
  co_return exits::configuration;
}

/// The merged stream of all partitions (RELIABILITY L28), if this store must check that events can be copied there.
std::optional<StoreOptions> one_stream_of(const ServedParts& parts) {
  const bool is_asked = parts.config.signals.merged && parts.mode != RunMode::selected;
  if (!is_asked || (parts.shared.stores > 1 && parts.config.partition().index > 0)) return std::nullopt;
  StoreOptions of_all = store_options(parts.config, parts.redis_url);
  of_all.of_all = true;
  return of_all;
}

/// An error that the operator must fix before the start; an unreachable node does not prevent the start. Blocking.
std::optional<StoreError> objection_to(const StoreOptions& one_stream) {
  const auto opened = Store(one_stream).open();
  const bool is_ours = opened.has_error() && (opened.error().code == StoreError::Code::unsupported ||
                                              opened.error().code == StoreError::Code::auth);
  return is_ours ? std::optional(opened.error()) : std::nullopt;
}

}  // namespace

asio::awaitable<int> open_store(ServedParts& parts) {
  Milliseconds wait = first_wait;
  for (std::string told; !parts.ingest.worker.stopping();) {
    // Read in each round, because SIGHUP may replace the configuration.
    const std::vector<HostSettings> hosts = HostRules(parts.config).settings();
    const std::optional<StoreOptions> one_stream = one_stream_of(parts);
    const RunMode mode = parts.mode;
    test_point("B4");
    std::string id;
    const StoreResult<std::string> server = co_await parts.ingest.store.call([&](Store& store) {
      auto opened = store.open();
      if (!opened) return opened;
      auto named = store.id();
      if (!named) return named;
      id = std::move(*named);
      const auto wrong = one_stream ? objection_to(*one_stream) : std::nullopt;
      if (wrong) return StoreResult<std::string>(*wrong);
      if (mode == RunMode::selected) return opened;  // a verb may run without the hosts' configuration
      const auto known = Hosts(store).set(hosts);    // HTTP H7
      return known ? opened : StoreResult<std::string>(known.error());
    });
    if (server) {
      parts.ingest.refresher.set_store_id(std::move(id));
      parts.metrics.set_store(*server);
      test_point("B5");
      if (!told.empty()) tell_back(parts.log, parts.shared.away.came(&parts.outages, 0), "Redis is available");
      co_return co_await check_contact(parts);
    }
    if (parts.ingest.worker.stopping()) break;
    const StoreError& error = server.error();
    const VerbFailure failure = failure_of(error);
    const bool hopeless = error.code == StoreError::Code::unsupported || error.code == StoreError::Code::auth ||
                          error.code == StoreError::Code::tls;
    if (hopeless || parts.mode != RunMode::daemon) {
      parts.log.write(LogLevel::error, hopeless ? "config_error" : "redis_down", failure.text);
      co_return failure.exit;
    }
    parts.metrics.store_error(error);
    if (parts.opening_trouble.detail != error.detail) {
      parts.opening_trouble = error;  // "LOADING …" while Redis reads its files (RELIABILITY R7)
      parts.shared.notify.status(parts.shared.state());
    }
    if (told != error.detail) {  // the error may change during the outage
      const LogLevel level = parts.shared.away.went(&parts.outages) ? LogLevel::error : LogLevel::debug;
      const std::string& detail = needs_operator(error) ? failure.text : error.detail;  // includes the remedy
      parts.log.write(level, "redis_down", "waiting for Redis", {{"detail", detail}});
    }
    told = error.detail;
    parts.nap.expires_after(wait);
    wait = std::min(wait * 2, longest_wait);
    co_await parts.nap.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return exits::done;
}

}  // namespace feedmill
