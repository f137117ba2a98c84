#include "worker/process/process.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/redis/test_point.hpp"
#include "worker/base/cancellation.hpp"
#include "worker/base/exits.hpp"
#include "worker/base/threads.hpp"
#include "worker/process/fleet_watch.hpp"
#include "worker/process/opening.hpp"
#include "worker/process/process_status.hpp"
#include "worker/process/reloading.hpp"
#include "worker/process/run_options.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

int Process::run() {
  if (parts_.mode == RunMode::daemon) {
    hang_ups_.emplace({SIGHUP});
    status_wanted_.emplace({SIGUSR1});
  }
  if (const auto refused = open_listeners()) return *refused;
  test_point("B3");
  int exit_code = exits::bug;
  asio::co_spawn(parts_.loop, run_until_done(), [&](const std::exception_ptr& error, int code) {
    if (error) std::rethrow_exception(error);
    exit_code = code;
    stopping_.ended();
  });
  try {
    parts_.loop.run();
  } catch (const std::exception& error) {
    cut_off(error);
  }
  stopping_.tell_end(exit_code);
  return exit_code;
}

/// What is under way on the loops refers to what would be destroyed first. As after a kill, leases end by themselves.
void Process::cut_off(const std::exception& why) {
  const bool refused = is_short_of_threads(why);
  if (refused)
    parts_.log.write(LogLevel::error, "config_error", short_of_threads);
  else
    parts_.report_bug("loop", why.what());
  if (parts_.server != nullptr) parts_.server->abandon();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the log is written by a thread of its own
  std::_Exit(refused ? exits::unfinished : exits::bug);
}

/// The exit code when one cannot be bound; it has been told why.
std::optional<int> Process::open_listeners() {
  const auto refused = [this](const ListenError& why) {
    parts_.log.write(LogLevel::error, why.busy ? "listen_error" : "config_error", why.detail);
    return why.busy ? exits::unfinished : exits::configuration;  // systemd tries the first again
  };
  const Config& config = parts_.config;
  if (parts_.mode == RunMode::daemon && config.admin.listen) {
    Admin::Options options;
    options.listen = *config.admin.listen;
    options.token = config.admin.token;
    options.hosts = config.admin.hosts;
    AdminPages pages = parts_.pages.pages();
    if (!config.api.listen) pages.programs = [this](Visit& visit) { return parts_.api.answer(visit); };
    auto opened = Admin::open(parts_.loop.get_executor(), options, health_of(parts_), std::move(pages));
    if (!opened) return refused(opened.error());
    parts_.admin = std::move(*opened);
  }
  if (parts_.mode == RunMode::daemon && config.api.listen) {
    auto opened = Listener::open(parts_.loop.get_executor(), *config.api.listen, "api.listen");
    if (!opened) return refused(opened.error());
    parts_.api_listener = std::move(*opened);
  }
  if (auto options = websub_options(config, parts_.id, parts_.mode)) {
    options->intake.tell = [this](const Report& report) {
      parts_.history.record_push(report, std::chrono::steady_clock::now());
    };
    auto opened = WebSub::open(parts_.loop.get_executor(), store_options(config, parts_.redis_url), std::move(*options),
                               {parts_.ingest.refresher, parts_.ingest.threads, parts_.ingest.fetcher, parts_.memory,
                                parts_.metrics, parts_.log});
    if (!opened) return refused(opened.error());
    parts_.websub = std::move(*opened);
  }
  if (auto options = push_out_options(config, parts_.id, parts_.mode, parts_.descriptors)) {
    options->fetch = parts_.push_out_fetch_options(*egress_policies(config));
    auto opened = PushOut::open(parts_.loop.get_executor(), store_options(config, parts_.redis_url),
                                std::move(*options), parts_.metrics, parts_.log);
    if (!opened) return refused(opened.error());
    parts_.push_out = std::move(*opened);
  }
  return {};
}

asio::awaitable<int> Process::run_until_done() {
  // What goes on beside the work ends by cancellation when the work has ended.
  const auto result = co_await (work() || beside());
  co_return result.index() == 0 ? std::get<0>(result) : exits::bug;
}

asio::awaitable<void> Process::beside() {
  co_await (guarded("signals", stopping_.obey()) && guarded("heartbeat", heartbeat()) &&
            guarded("figures", watch_fleet(parts_)) && guarded("listener", serve_admin()) &&
            guarded("api", serve_api()) && guarded("private server", supervise()) &&
            guarded("ticks", parts_.ingest.liveness.tick()) && guarded("watchdog", feed_watchdog()) &&
            guarded("hang-up", heed_hang_ups()) && guarded("state", tell_state()) &&
            guarded("status", heed_questions()));
}

/// One part's bug must not take the others along.
asio::awaitable<void> Process::guarded(const char* part, asio::awaitable<void> work) {
  try {
    co_await std::move(work);
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(error);
    if (!is_cancellation(std::current_exception())) parts_.report_bug(part, error.what());
  }
}

/// Does not throw: run_until_done() would wait for ever.
asio::awaitable<int> Process::work() {
  int code = exits::bug;
  try {
    code = co_await serve_feeds();
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(error);
    parts_.report_bug("worker", error.what());
  }
  if (parts_.server != nullptr) parts_.server->interrupt();  // it may still be loading its files
  co_return stopping_.interrupted() && code != exits::bug ? exits::interrupted : code;
}

asio::awaitable<int> Process::serve_feeds() {
  parts_.notify.ready(parts_.state());  // RELIABILITY N1: a store that is away is no reason to be restarted
  const int code = co_await open_store(parts_);
  if (code != exits::done || parts_.ingest.worker.stopping()) co_return code;
  parts_.opened = true;
  parts_.metrics.set_memory_budget(parts_.memory.total());
  parts_.metrics.set_redis_up(true);
  if (parts_.mode == RunMode::daemon) {
    std::vector<LogField> fields{{"lanes", parts_.all_lanes()}, {"loops", parts_.loops}};
    if (const Partition mine = parts_.config.partition(); !mine.is_whole())
      fields.emplace_back("partition", mine.index);
    parts_.log.write(LogLevel::info, "ready", parts_.state(), fields);
  }
  parts_.notify.status(parts_.state());
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

/// The ingest half; when it is done, so is the other with what it left to deliver. Does not throw: nobody would tell
/// the other half.
asio::awaitable<Worker::End> Process::ingest() {
  Worker::End end = Worker::End::store_away;
  try {
    if (parts_.config.worker.ingest) {
      if (parts_.mode == RunMode::once) {
        co_await guarded("requests", parts_.requests.run(true));  // what they add is due
        co_await guarded("orphans", look_after_orphans(parts_));
      }
      end = co_await fetch();
    } else {
      // Only delivering: a daemon until it is stopped, any other until what there is has been delivered.
      while (parts_.mode == RunMode::daemon && !parts_.ingest.worker.stopping()) {
        parts_.nap.expires_after(std::chrono::hours(1));
        co_await parts_.nap.async_wait(asio::as_tuple(asio::use_awaitable));
      }
      end = Worker::End::clean;
    }
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) cut_off(error);
    parts_.report_bug("ingest", error.what());
  }
  parts_.requests.stop();
  parts_.deliver.finish();
  co_return end;
}

/// On every loop, until all have ended. Where one ends by an exception, so do the others.
asio::awaitable<Worker::End> Process::fetch() {
  const auto beside = [this](IngestParts& loop) -> asio::awaitable<void> {
    if (parts_.mode == RunMode::daemon)
      co_await (guarded("heartbeat", beat(loop, parts_.metrics)) && guarded("ticks", loop.liveness.tick()));
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

/// Only of a daemon that fetches: others count on it.
asio::awaitable<void> Process::heartbeat() {
  if (parts_.mode != RunMode::daemon || !parts_.config.worker.ingest) co_return;
  asio::steady_timer timer(parts_.loop);
  while (!parts_.opened) {
    timer.expires_after(std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_await beat(parts_.ingest, parts_.metrics);
}

asio::awaitable<void> Process::deliver() {
  if (parts_.config.worker.deliver) co_await guarded("deliver", parts_.deliver.run());
}

/// Beside the half that fetches.
asio::awaitable<void> Process::answer_requests() {
  if (parts_.mode != RunMode::daemon || !parts_.config.worker.ingest) co_return;
  if (parts_.ingest.worker.stopping()) parts_.requests.stop();  // told before it began
  co_await guarded("requests", parts_.requests.run(false));
}

asio::awaitable<void> Process::push() {
  if (!parts_.websub) co_return;
  if (parts_.ingest.worker.stopping()) parts_.websub->stop();  // told before it began
  co_await guarded("websub", parts_.websub->run());
}

asio::awaitable<void> Process::push_out() {
  if (!parts_.push_out) co_return;
  if (parts_.ingest.worker.stopping()) parts_.push_out->stop();  // told before it began
  co_await guarded("push_out", parts_.push_out->run());
}

asio::awaitable<void> Process::serve_admin() {
  if (parts_.admin) co_await parts_.admin->serve();
}

asio::awaitable<void> Process::serve_api() {
  if (!parts_.api_listener) co_return;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return parts_.api.answer(visit); };
  host.bug = [this](const char* what) { parts_.report_bug("api", what); };
  co_await parts_.api_listener->serve(api_places(), RequestLimits(), std::move(host));
}

asio::awaitable<void> Process::supervise() {
  if (parts_.server == nullptr || parts_.mode != RunMode::daemon) co_return;
  const auto tell = [this](const EmbeddedEvent& event) { parts_.log.write(event.level, "notice", event.detail); };
  co_await parts_.server->supervise(parts_.side, tell);
}

asio::awaitable<void> Process::heed_hang_ups() {
  if (hang_ups_) co_await obey_hang_ups(parts_, *hang_ups_);
}

asio::awaitable<void> Process::heed_questions() {
  if (status_wanted_) co_await tell_status(parts_, *status_wanted_);
}

/// The service manager hears of a change without a word to the store, which may be what is wrong.
asio::awaitable<void> Process::tell_state() {
  asio::steady_timer timer(parts_.loop);
  for (std::string told = parts_.state();;) {
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    if (const std::string now = parts_.state(); now != told && !parts_.ingest.worker.stopping()) {
      parts_.notify.status(told = now);
    }
  }
}

/// RELIABILITY N1.
asio::awaitable<void> Process::feed_watchdog() {
  const auto every = parts_.notify.watchdog_interval();
  if (!every) co_return;
  asio::steady_timer timer(parts_.loop);
  for (;;) {
    if (std::ranges::all_of(parts_.live_checks(), &Check::passed)) parts_.notify.watchdog();
    timer.expires_after(*every);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace feedmill
