#include "worker/process/process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/redis/test_point.hpp"
#include "worker/base/terminal.hpp"
#include "worker/process/process_answers.hpp"
#include "worker/process/run_options.hpp"
#include "worker/process/stopping.hpp"

namespace feedmill {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

ProbeOptions probe_options_at(const ServeTask& task) {
  ProbeOptions options = probe_options(task.config);
  options.store = store_options(task.config, task.redis_url);
  return options;
}

}  // namespace

Process::Process(std::vector<ServeTask> tasks, Log& log, BlockedPosixSignals& stop)
    : log_(log),
      stop_(stop),
      memory_(shared_memory(tasks.front().config)),
      reading_(reading_threads(tasks.front().config, loops_of(tasks.front().config, tasks.front().mode)), memory_),
      looks_({.probe = probe_options_at(tasks.front()), .at_once = 4}, memory_) {
  const std::size_t stores = tasks.size();
  for (ServeTask& task : tasks) {
    stores_.push_back(std::make_unique<ServedStore>(std::move(task), shared_by_stores(stores)));
  }
  if (stores > 1 && first().config.signals.merged && first().mode == RunMode::daemon)
    of_all_ = std::make_unique<OfAllPartitions>(stores_, log_);
  connect_programs(stores_, of_all_ ? &of_all_->api() : nullptr);
  if (stores == 1) return;
  std::vector<StorePool*> pools;
  for (const auto& store : stores_) pools.push_back(&store->parts().ingest.store);
  for (StorePool* const pool : pools) pool->set_partitions(pools);
}

SharedByStores Process::shared_by_stores(std::size_t stores) {
  const std::size_t mine = stores_.size();
  return {loop_,
          memory_,
          reading_,
          looks_,
          push_out_memory_,
          notify_,
          away_,
          log_,
          stores,
          [this] { return state(); },
          [this](const ServedParts& one) { return trouble_beside(&one); },
          [this, mine](int code) { leave(*stores_[mine], code); }};
}

int Process::run() {
  if (first().mode == RunMode::daemon) {
    hang_ups_.emplace({SIGHUP});
    status_wanted_.emplace({SIGUSR1});
  }
  if (const auto refused = open_listeners()) return *refused;
  test_point("B3");
  asio::co_spawn(loop_, run_until_done(), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  try {
    loop_.run();
  } catch (const std::exception& error) {
    cut_off(first(), error);
  }
  if (stores_.size() > 1 && first().mode == RunMode::daemon && first().ingest.worker.stopping()) {
    log_.write(LogLevel::info, "stopped",
               code_ == exits::done ? "stopped; all claims were stored or released"
                                    : "stopped; claims that could not be released come due when their leases end");
  }
  return code_;
}

/// Binds the listeners. If one cannot be bound, logs the reason and returns an exit code.
std::optional<int> Process::open_listeners() {
  const auto refused = [this](const ListenError& why) {
    log_.write(LogLevel::error, why.busy ? "listen_error" : "config_error", why.detail);
    return why.busy ? exits::unfinished : exits::configuration;  // systemd restarts the service after the former
  };
  const Config& config = first().config;
  if (first().mode == RunMode::daemon && config.admin.listen) {
    Admin::Options options;
    options.listen = *config.admin.listen;
    options.token = config.admin.token;
    options.hosts = config.admin.hosts;
    options.limits.memory = &memory_;
    AdminPages pages = pages_of(stores_);
    if (!config.api.listen) pages.programs = [this](Visit& visit) { return first().api.answer(visit); };
    auto opened = Admin::open(loop_.get_executor(), options,
                              health_of(stores_, of_all_ ? &of_all_->metrics() : nullptr), std::move(pages));
    if (!opened) return refused(opened.error());
    admin_ = std::move(*opened);
  }
  if (first().mode == RunMode::daemon && config.api.listen) {
    auto opened = Listener::open(loop_.get_executor(), *config.api.listen, "api.listen");
    if (!opened) return refused(opened.error());
    api_listener_ = std::move(*opened);
  }
  if (auto callbacks = callbacks_of(stores_); !callbacks.empty()) {
    CallbackListener::Options options = callback_options(config);
    options.limits.memory = &memory_;
    auto opened =
        CallbackListener::open(loop_.get_executor(), options, {std::move(callbacks), first().metrics, first().log});
    if (!opened) return refused(opened.error());
    callbacks_ = std::move(*opened);
  }
  auto outside = outside_of(stores_);
  if (of_all_ && of_all_->outside() != nullptr) outside.add(std::nullopt, *of_all_->outside());
  if (!outside.empty()) {
    OutsideListener::Options options = outside_options(config);
    options.limits.memory = &memory_;
    auto opened = OutsideListener::open(loop_.get_executor(), std::move(options), std::move(outside),
                                        [this](const char* what) { first().report_bug("push_out.listen", what); });
    if (!opened) return refused(opened.error());
    outside_ = std::move(*opened);
  }
  return {};
}

asio::awaitable<void> Process::run_until_done() {
  // The end of the work cancels the parallel tasks.
  co_await ((serve_stores() && serve_of_all()) || beside());
}

asio::awaitable<void> Process::serve_of_all() {
  if (of_all_) co_await of_all_->run();
}

/// Returns when all stores have ended. A configuration error in the first would affect all, so the others do not start.
asio::awaitable<void> Process::serve_stores() {
  for (const auto& store : stores_) {
    if (code_ == exits::configuration || stores_.front()->is_stopping()) break;
    ++at_work_;
    asio::co_spawn(loop_, store->run(), [this, &store](const std::exception_ptr& error, int code) {
      if (error) std::rethrow_exception(error);
      note_end(*store, code);
    });
    if (store == stores_.front() && stores_.size() > 1) co_await first_is_known();
  }
  while (at_work_ > 0) co_await ended_.async_wait(asio::as_tuple(asio::use_awaitable));
  if (of_all_) of_all_->stop();
}

/// Waits until the first store is open or has ended, at most 2 s.
asio::awaitable<void> Process::first_is_known() {
  constexpr std::chrono::milliseconds between_looks{20};
  asio::steady_timer timer(loop_);
  const auto until = asio::steady_timer::clock_type::now() + std::chrono::seconds(2);
  while (at_work_ > 0 && !first().opened && asio::steady_timer::clock_type::now() < until) {
    timer.expires_after(between_looks);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// A daemon cannot continue without a store: if one ends without a stop, stops the others.
void Process::note_end(const ServedStore& store, int code) {
  code_ = std::max(code_, code);
  --at_work_;
  if (first().mode == RunMode::daemon && !store.is_stopping()) {
    for (const auto& other : stores_) {
      if (other->is_at_work() && !other->is_stopping()) other->stop(false);
    }
  }
  if (left_) leave(store, code);
  ended_.cancel();
}

/// Waits for the other stores, then ends the process.
void Process::leave(const ServedStore& store, int code) {
  left_ = std::max(left_.value_or(code), code);
  const auto is_waited_for = [&](const auto& one) {
    return one.get() != &store && one->is_at_work() && !one->has_left();
  };
  if (std::ranges::any_of(stores_, is_waited_for)) return;
  if (stores_.size() > 1) {
    const auto left = std::ranges::count_if(stores_, [](const auto& one) { return one->has_left(); });
    log_.write(LogLevel::warn, "stopped",
               "stopped; Redis does not answer for some partitions, and their claims come due when their leases end",
               {{"partitions", left}});
  }
  end_now(std::max(code_, *left_));
}

/// Runs until the process ends, because hubs call back during the drain.
template <class Served>
asio::awaitable<void> Process::serve(const std::unique_ptr<Served>& listener) {
  if (listener) co_await listener->serve();
}

asio::awaitable<void> Process::beside() {
  const auto guarded = [this](const char* part, asio::awaitable<void> work) {
    return stores_.front()->guarded(part, std::move(work));
  };
  co_await (guarded("signals", obey(stop_)) && guarded("listener", serve(admin_)) && guarded("api", serve_api()) &&
            guarded("callbacks", serve(callbacks_)) && guarded("push_out.listen", serve(outside_)) &&
            guarded("private server", supervise(first())) && guarded("watchdog", feed_watchdog()) &&
            guarded("hang-up", obey_hang_ups()) && guarded("state", tell_state()) &&
            guarded("status", answer_questions()));
}

asio::awaitable<void> Process::obey(BlockedPosixSignals& signals) {
  SignalWait wait(loop_.get_executor(), signals);
  for (;;) {
    const int signal = co_await wait.next();
    const bool at_terminal = signal == SIGINT && ::isatty(STDIN_FILENO) != 0;
    if (stores_.size() > 1 && first().mode == RunMode::daemon) {
      const bool again = first().ingest.worker.stopping();
      log_.write(LogLevel::info, again ? "stop" : "drain",
                 again ? "told to stop now: cancelling and releasing running refreshes"
                       : what_a_stop_waits_for(first(), in_flight(), at_terminal),
                 {{"in_flight", in_flight()}, {"partitions", stores_.size()}});
    }
    stop(at_terminal);
  }
}

void Process::stop(bool at_terminal) {
  if (of_all_) first().ingest.worker.stopping() || at_terminal ? of_all_->hurry() : of_all_->stop();
  for (const auto& store : stores_) {
    if (store->is_at_work()) store->stop(at_terminal);
  }
  if (outside_) outside_->close();
}

asio::awaitable<void> Process::obey_hang_ups() {
  if (!hang_ups_) co_return;
  SignalWait wait(loop_.get_executor(), *hang_ups_);
  for (;;) {
    co_await wait.next();
    notify_.reloading();
    for (const auto& store : stores_) co_await reload(store->parts());
    if (of_all_) of_all_->reload();
    notify_.ready(state());
  }
}

asio::awaitable<void> Process::answer_questions() {
  if (!status_wanted_) co_return;
  SignalWait wait(loop_.get_executor(), *status_wanted_);
  for (;;) {
    co_await wait.next();
    for (const auto& store : stores_) co_await tell_status(store->parts());
  }
}

asio::awaitable<void> Process::serve_api() {
  if (!api_listener_) co_return;
  Listener::Host host;
  host.answer = [this](Visit& visit) { return first().api.answer(visit); };
  host.bug = [this](const char* what) { first().report_bug("api", what); };
  RequestLimits limits;
  limits.memory = &memory_;
  const Listener::Places places{.connections = 128, .per_network = 64};
  co_await api_listener_->serve(places, limits, std::move(host));
}

/// As "ready, http://127.0.0.1:9810", or why the process is not ready.
std::string Process::state() const {
  std::string where;
  if (admin_) where += ", http://" + address_text(admin_->endpoint());
  if (api_listener_) where += ", programs at http://" + address_text(api_listener_->endpoint());
  if (callbacks_) where += ", callbacks at http://" + address_text(callbacks_->endpoint());
  if (outside_) where += ", others at http://" + address_text(outside_->endpoint());
  where += first().remarks();
  if (stores_.size() == 1) {
    std::string trouble = first().trouble();
    return trouble.empty() ? "ready" + where : trouble;
  }
  const std::size_t ready = ready_stores();
  if (ready == stores_.size()) return "ready" + where;
  return fmt::format("{} of {} partitions are ready{}, {}", ready, stores_.size(), where, trouble_beside(nullptr));
}

/// Describes the first few stores that are not ready.
std::string Process::trouble_beside(const ServedParts* mine) const {
  constexpr std::size_t most = 3;
  std::string text;
  std::size_t count = 0;
  for (const auto& store : stores_) {
    const std::string trouble = &store->parts() == mine ? "" : store->parts().trouble();
    if (trouble.empty() || ++count > most) continue;
    text +=
        fmt::format("{}partition {}: {}", text.empty() ? "" : ", ", store->parts().config.partition().index, trouble);
  }
  return count > most ? fmt::format("{}, and {} more", text, count - most) : text;
}

std::size_t Process::in_flight() const {
  std::size_t all = 0;
  for (const auto& store : stores_) all += store->parts().in_flight();
  return all;
}

std::size_t Process::ready_stores() const {
  const auto is_well = [](const auto& store) { return store->parts().trouble().empty(); };
  return static_cast<std::size_t>(std::ranges::count_if(stores_, is_well));
}

/// Reports changes of the state to the service manager; does not query Redis, which may be the cause. With several
/// stores, logs how many are not ready when that number is stable; the stores log only the first outage and the last
/// recovery.
asio::awaitable<void> Process::tell_state() {
  asio::steady_timer timer(loop_);
  std::size_t ready = stores_.size(), logged = ready;
  for (std::string told = state();;) {
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    if (stores_.front()->is_stopping()) continue;
    if (std::string now = state(); now != told) notify_.status(told = std::move(now));
    const std::size_t before = std::exchange(ready, ready_stores());
    if (ready != before || ready == logged) continue;
    logged = ready;
    if (ready < stores_.size() && stores_.size() > 1 && first().mode == RunMode::daemon)
      log_.write(LogLevel::warn, "not_ready", told, {{"ready", ready}, {"partitions", stores_.size()}});
  }
}

/// RELIABILITY N1: reports liveness to systemd.
asio::awaitable<void> Process::feed_watchdog() {
  const auto every = notify_.watchdog_interval();
  if (!every) co_return;
  asio::steady_timer timer(loop_);
  for (;;) {
    if (std::ranges::all_of(live_checks_of(stores_), &Check::passed)) notify_.watchdog();
    timer.expires_after(*every);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

namespace {

Api::Options api_options_of_all(const ServedParts& first) {
  Api::Options options = api_options(first.config, first.redis_url);
  options.store.of_all = true;
  return options;
}

}  // namespace

OfAllPartitions::OfAllPartitions(ServedStores stores, Log& log)
    : first_(*stores.front()),
      metrics_({FEEDMILL_VERSION, curl_version_info(CURLVERSION_NOW)->version, ""}),
      api_(
          first_.parts().loop.get_executor(), api_options_of_all(first_.parts()), first_.parts().config,
          first_.parts().looks, first_.parts().memory, [](bool) {},
          [this](const char* what) { first_.parts().report_bug("api", what); }),
      push_out_(push_out(stores, log)) {}

std::unique_ptr<PushOut> OfAllPartitions::push_out(ServedStores stores, Log& log) {
  ServedParts& first = first_.parts();
  auto options = push_out_options(first.config, first.id, first.mode, first.descriptors, 1);
  if (!options) return nullptr;
  options->fetch = first.push_out_fetch_options(*egress_policies(first.config));
  options->tells_of_store = false;
  options->streams.partition = {};
  if (options->outside) options->outside->public_url.clear();  // topics and the hub belong to one partition each
  FeedHomes& homes = options->homes.emplace();
  homes.partitions = static_cast<unsigned>(stores.size());
  homes.at = [&first](unsigned partition, std::function<void(Store&)> work) {
    return first.ingest.store.call_at(partition, std::move(work));
  };
  StoreOptions store = store_options(first.config, first.redis_url);
  store.of_all = true;
  return std::make_unique<PushOut>(first.loop.get_executor(), store, std::move(*options), first.shared.push_out,
                                   metrics_, log);
}

asio::awaitable<void> OfAllPartitions::run() {
  if (push_out_) co_await first_.guarded("push_out", push_out_->run());
}

void OfAllPartitions::stop() {
  if (push_out_) push_out_->stop();
}

void OfAllPartitions::hurry() {
  if (push_out_) push_out_->hurry();
}

void OfAllPartitions::reload() {
  ServedParts& first = first_.parts();
  api_.set_config(first.config);
  if (push_out_) push_out_->set_fetch_options(first.push_out_fetch_options(*egress_policies(first.config)));
}

}  // namespace feedmill
