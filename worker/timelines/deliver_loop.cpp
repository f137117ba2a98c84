#include "worker/timelines/deliver_loop.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/observe/store_health.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

namespace asio = boost::asio;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr Milliseconds look_for_right{75'000};  // how long to poll for another owner's lease; exceeds a lease
constexpr Milliseconds look_again{1'000};       // poll interval for the lease
constexpr Milliseconds look_again_late{5'000};  // poll interval while another process polls first
constexpr Milliseconds look_again_soon{50};     // poll interval while finishing
constexpr Milliseconds between_passes{200};     // pause between passes over records without receivers
constexpr Milliseconds least_unwanted{5'000};   // minimum wait before the next upkeep of lease and stream
constexpr Milliseconds look_for_records{20};    // poll interval without blocking in Redis

}  // namespace

DeliverLoop::DeliverLoop(const asio::any_io_executor& executor, const StoreOptions& store, Options options,
                         Metrics& metrics, Log& log)
    : options_(std::move(options)),
      metrics_(metrics),
      log_(log),
      deliverer_(store, options_.deliverer),
      timer_(executor),
      refused_(metrics, log, "delivery"),
      look_until_(SteadyClock::now() + look_for_right) {
  deliverer_.cancelled = [this] { return stopping_.load(); };
}

void DeliverLoop::finish() {
  if (finishing_) return;
  finishing_ = go_on_ = broke_ = true;
  deliverer_.break_wait();
  // Allows time for the lease of a killed owner to expire.
  give_up_at_ = SteadyClock::now() + options_.deliverer.right_for + Milliseconds(5'000);
  bear_until_ = SteadyClock::now() + (options_.wait_for_others ? Milliseconds(3'000) : Milliseconds(0));
  timer_.cancel();
}

void DeliverLoop::stop() {
  stopping_ = true;
  deliverer_.break_wait();
  timer_.cancel();
}

asio::awaitable<void> DeliverLoop::run() {
  while (!stopping_ && co_await take_step()) {
  }
  if (store_down_) co_return;  // the lease expires
  const StoreResult<void> gone = co_await run_on(calls_, [&] { return deliverer_.let_go(); });
  if (!gone) metrics_.store_error(gone.error());
}

/// Returns false when delivery has finished.
asio::awaitable<bool> DeliverLoop::take_step() {
  const Milliseconds block = finishing_ ? Milliseconds(0) : options_.block;
  const bool last = finishing_;
  StoreResult<Deliverer::Step> step = co_await run_on(calls_, [&] { return deliverer_.begin_step(block); });
  if (step && step->waits) {
    co_await until_answered(*step->waits);
    step = co_await run_on(calls_, [&] { return deliverer_.end_step(); });
  }
  metrics_.reconnected(deliverer_.reconnects() - reconnects_);
  reconnects_ = deliverer_.reconnects();
  if (!step) {
    if (stopping_) co_return false;
    if (std::exchange(broke_, false)) co_return true;
    store_went(step.error());
    if (finishing_ && SteadyClock::now() >= bear_until_) co_return false;
    co_await pause(wait_before_retry(step.error(), attempts_++));
    co_return true;
  }
  store_came();
  tell(*step);
  if (step->waiting) {
    if (last) {
      if (!options_.wait_for_others || SteadyClock::now() > give_up_at_) co_return false;
      const StoreResult<bool> done = co_await run_on(calls_, [&] { return deliverer_.is_done(); });
      if (done && *done) co_return false;
    }
    if (last)
      co_await pause(look_again_soon);
    else
      co_await wait_for_right(block);
    co_return true;
  }
  if (last || !step->idle) co_return !step->idle;
  if (step->unwanted && (step->applied > 0 || block.count() == 0)) {
    co_await pause(between_passes);
  } else if (step->unwanted) {
    co_await wait_for_record(block);
  } else if (block.count() == 0) {
    co_await pause(look_for_records);
  }
  co_return true;
}

/// Waits until a record may have arrived, and returns true then, or until upkeep is due. For use without receivers.
asio::awaitable<bool> DeliverLoop::wait_for_record(Milliseconds block) {
  const auto until = SteadyClock::now() + std::max(block, least_unwanted);
  bool come = false;
  while (!come && !stopping_ && !finishing_ && SteadyClock::now() < until) {
    const auto begin = [&] { return deliverer_.begin_to_wait(block); };
    const auto end = [&] { return deliverer_.has_come(); };
    const StoreResult<bool> heard = co_await wait_at_server(calls_, begin, end);
    come = !heard || *heard;  // the next step will report the error
  }
  co_return come;
}

/// Waits before the next attempt at another owner's lease. That owner may be dead, so poll at first; later wait for a
/// record that needs delivery.
asio::awaitable<void> DeliverLoop::wait_for_right(Milliseconds block) {
  if (block.count() > 0 && SteadyClock::now() >= look_until_) {
    const bool come = co_await wait_for_record(block);
    if (!come) co_return;
    look_until_ = SteadyClock::now() + look_for_right;
  }
  co_await pause(yields_ ? look_again_late : look_again);
}

asio::awaitable<void> DeliverLoop::pause(Milliseconds longest) {
  if (stopping_ || std::exchange(go_on_, false)) co_return;
  timer_.expires_after(longest);
  co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void DeliverLoop::tell(const Deliverer::Step& step) {
  metrics_.delivered(step.applied, step.repeated, step.failed);
  metrics_.told_same_as(step.same_as);
  if (step.rebuilt) {
    log_.write(LogLevel::warn, "notice",
               "delivery fell behind the trimmed stream; timelines were rebuilt from the feeds");
  }
  if (step.missed) {
    log_.write(LogLevel::warn, "notice", "delivery fell behind the trimmed stream; notices were lost");
  }
  if (step.unmerged) {
    log_.write(LogLevel::warn, "notice",
               "copying fell behind the trimmed stream; events are missing from the merged stream");
  }
  if (step.merge_trouble) {
    metrics_.store_error(*step.merge_trouble);
    if (!std::exchange(merge_down_, true)) {
      log_.write(LogLevel::error, "redis_down", "the merged stream accepts no events; feedmill retries",
                 {{"detail", step.merge_trouble->detail}});
    }
  } else if (step.merges && std::exchange(merge_down_, false)) {
    log_.write(LogLevel::info, "redis_up", "the merged stream accepts events again");
  }
  if (step.failed > 0) {
    log_.write(LogLevel::warn, "notice", "records in the stream are not signals, or channel keys have the wrong type",
               {{"records", step.failed}});
  }
}

void DeliverLoop::store_went(const StoreError& error) {
  metrics_.store_error(error);
  store_down_ = true;
  if (error.code == StoreError::Code::refused || error.code == StoreError::Code::bug) {
    refused_.tell(error);
  } else if (options_.tells_of_store && !std::exchange(outage_told_, true)) {
    log_.write(LogLevel::error, "redis_down", "delivery cannot continue; feedmill retries", {{"detail", error.detail}});
  }
}

void DeliverLoop::store_came() {
  attempts_ = 0;
  store_down_ = false;
  refused_.goes_on();
  if (std::exchange(outage_told_, false)) {
    log_.write(LogLevel::info, "redis_up", "Redis is available again");
  }
}

}  // namespace feedmill
