#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// A connection to the store for use off the loop. Must outlive every running call. Calls are not cancellable; they end
/// within the store's timeout.
class StoreCalls {
 public:
  explicit StoreCalls(const StoreOptions& options) : store_(options) {}
  StoreCalls(const StoreCalls&) = delete;
  StoreCalls& operator=(const StoreCalls&) = delete;

  /// Runs `work(store)`; the caller resumes on its own executor.
  template <class Work>
  auto call(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(calls_, [this, work = std::move(work)]() mutable { return work(store_); });
  }

  /// Like call(), for idempotent work: repeats it once over a new connection if the old one turns out to be closed, for
  /// example after a restart of Redis.
  template <class Work>
  auto call_again(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(calls_, [this, work = std::move(work)]() mutable {
      auto result = work(store_);
      if (result.has_error() && result.error().code == StoreError::Code::unavailable) result = work(store_);
      return result;
    });
  }

 private:
  Store store_;
  BlockingCalls calls_;
};

/// Wakes the coroutine in rest(). If none rests, ring() makes the next rest() return at once. Used on the loop's
/// thread.
class Bell {
 public:
  explicit Bell(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void ring() {
    rung_ = true;
    timer_.cancel();
  }

  boost::asio::awaitable<void> rest(std::chrono::milliseconds longest) {
    if (std::exchange(rung_, false)) co_return;
    timer_.expires_after(longest);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    rung_ = false;
  }

 private:
  boost::asio::steady_timer timer_;
  bool rung_ = false;
};

}  // namespace feedmill
