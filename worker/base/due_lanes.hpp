// Lanes for the due items of a queue in the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "worker/base/coroutines.hpp"

namespace feedmill {

/// Wakes the coroutine in wait(); a notify() while none waits ends the next wait() at once. Used on the loop's thread.
class WakeEvent {
 public:
  explicit WakeEvent(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void notify() {
    notified_ = true;
    timer_.cancel();
  }

  /// Waits for a notify(), at most `longest`.
  boost::asio::awaitable<void> wait(std::chrono::milliseconds longest) {
    if (std::exchange(notified_, false)) co_return;
    timer_.expires_after(longest);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    notified_ = false;
  }

 private:
  boost::asio::steady_timer timer_;
  bool notified_ = false;
};

/// Serves due items concurrently. It takes only as many as lanes are free: others stay in the store, for any worker.
/// Lives on one loop.
template <class Item>
class DueLanes {
 public:
  /// Items taken from the store, and how long to wait before looking again; 0: look as soon as a lane is free.
  struct Taken {
    std::vector<Item> items;
    std::chrono::milliseconds rest{};
  };

  /// `due`: notified when items may be due earlier than expected; outlives this.
  DueLanes(boost::asio::any_io_executor executor, std::size_t count, WakeEvent& due)
      : executor_(std::move(executor)),
        count_(count),
        due_(due),
        filled_(executor_, boost::asio::steady_timer::time_point::max()) {}
  DueLanes(const DueLanes&) = delete;
  DueLanes& operator=(const DueLanes&) = delete;

  /// Runs until stop() and the end of running serve() calls, or until cancelled. `take(room)` returns an
  /// awaitable<Taken> with at most `room` items; `serve(item)` returns an awaitable<void> and must not throw, except
  /// when cancelled.
  template <class Take, class Serve>
  boost::asio::awaitable<void> run(const Take& take, const Serve& serve) {
    const auto part = [&](std::size_t i) { return i == 0 ? keep_filled(take) : lane(serve); };
    try {
      co_await at_once(executor_, 1 + count_, part);
    } catch (...) {
      if (!is_cancellation(std::current_exception())) throw;
    }
  }

  /// Takes and starts nothing more.
  void stop() {
    stopping_ = true;
    due_.notify();
    filled_.cancel();
  }

  /// After run(): the items that were taken and not served.
  std::deque<Item> left() { return std::exchange(waiting_, {}); }

 private:
  template <class Take>
  boost::asio::awaitable<void> keep_filled(const Take& take) {
    while (!stopping_) {
      if (in_hand_ == count_) {
        co_await due_.wait(std::chrono::hours(1));
        continue;
      }
      Taken taken = co_await take(count_ - in_hand_);
      in_hand_ += taken.items.size();
      for (Item& item : taken.items) waiting_.push_back(std::move(item));
      if (!taken.items.empty()) filled_.cancel();
      if (taken.rest.count() > 0) co_await due_.wait(taken.rest);
    }
  }

  template <class Serve>
  boost::asio::awaitable<void> lane(const Serve& serve) {
    while (!stopping_) {
      if (waiting_.empty()) {
        co_await filled_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        continue;
      }
      Item item = std::move(waiting_.front());
      waiting_.pop_front();
      co_await serve(item);
      if (in_hand_-- == count_) due_.notify();
    }
  }

  boost::asio::any_io_executor executor_;
  const std::size_t count_;
  WakeEvent& due_;
  boost::asio::steady_timer filled_;  // cancelled when items are waiting
  std::deque<Item> waiting_;          // for a lane
  std::size_t in_hand_ = 0;           // waiting or being served
  bool stopping_ = false;
};

}  // namespace feedmill
