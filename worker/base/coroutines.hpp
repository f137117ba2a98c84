// Coroutines on a loop: several at once, one at a time, calls from other threads, cancellation.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// Runs the coroutines `work(0)` to `work(count - 1)` concurrently and returns when all have ended. If any threw,
/// rethrows the exception of the lowest index. `executor`: the caller's; what `work` refers to must outlive the call.
template <class Work>
boost::asio::awaitable<void> at_once(boost::asio::any_io_executor executor, std::size_t count, const Work& work) {
  namespace asio = boost::asio;
  if (count == 0) co_return;
  using Started = decltype(asio::co_spawn(executor, work(0), asio::deferred));
  std::vector<Started> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(asio::co_spawn(executor, work(i), asio::deferred));
  auto group = asio::experimental::make_parallel_group(std::move(all));
  const auto [order, failures] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// Calls `leave` when destroyed: at the end of a scope, or with the coroutine. It must not throw.
template <class Leave>
class AtExit {
 public:
  explicit AtExit(Leave leave) : leave_(std::move(leave)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { leave_(); }

 private:
  Leave leave_;
};

// Mutual exclusion of coroutines.

/// A critical section. Lives on one loop's thread and must outlive its waiters.
class OneAtATime {
 public:
  /// Holds the section until destroyed.
  class Inside {
   public:
    explicit Inside(OneAtATime& section) : section_(&section) { section.taken_ = true; }
    Inside(Inside&& other) noexcept : section_(std::exchange(other.section_, nullptr)) {}
    Inside& operator=(Inside&&) = delete;
    ~Inside() {
      if (section_ == nullptr) return;
      section_->taken_ = false;
      section_->left_.cancel_one();
    }

   private:
    OneAtATime* section_;
  };

  explicit OneAtATime(const boost::asio::any_io_executor& executor)
      : left_(executor, boost::asio::steady_timer::time_point::max()) {}

  /// Waits until the section is free. Throws system_error if cancelled.
  boost::asio::awaitable<Inside> enter() {
    while (taken_) {
      co_await left_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      const auto cancelled = (co_await boost::asio::this_coro::cancellation_state).cancelled();
      if (cancelled != boost::asio::cancellation_type::none)
        throw boost::system::system_error(boost::asio::error::operation_aborted);
    }
    co_return Inside(*this);
  }

 private:
  bool taken_ = false;
  boost::asio::steady_timer left_;  // cancelled to wake the next waiter
};

/// Waits until `end` has expired, however often its expiry is changed; returns early if the coroutine is cancelled.
/// `end` must outlive the wait.
inline boost::asio::awaitable<void> wait_until_expired(boost::asio::steady_timer& end) {
  for (;;) {
    co_await end.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    const auto cancelled = (co_await boost::asio::this_coro::cancellation_state).cancelled();
    if (cancelled != boost::asio::cancellation_type::none) co_return;
    if (boost::asio::steady_timer::clock_type::now() >= end.expiry()) co_return;
  }
}

/// A one-shot callback to a loop, callable from any thread. Copies share one call: it runs at most once.
class LoopCall {
 public:
  LoopCall() = default;
  LoopCall(boost::asio::any_io_executor loop, std::function<void()> work)
      : loop_(std::move(loop)), work_(std::make_shared<std::function<void()>>(std::move(work))) {}

  explicit operator bool() const { return work_ != nullptr; }
  bool operator==(const LoopCall& other) const { return work_ == other.work_; }

  /// Runs the work on the loop; immediately if called on the loop's thread. From any thread.
  void tell() const {
    if (!work_) return;
    boost::asio::dispatch(loop_, [work = work_] {
      if (const auto once = std::exchange(*work, nullptr)) once();
    });
  }
  /// Prevents the work from running. On the loop's thread only.
  void cancel() {
    if (work_) *work_ = nullptr;
  }

 private:
  boost::asio::any_io_executor loop_;
  std::shared_ptr<std::function<void()>> work_;
};

/// Whether `error` is the exception that unwinds a cancelled coroutine, the only one expected in normal operation.
inline bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& system) {
    return system.code() == boost::asio::error::operation_aborted;
  } catch (const boost::asio::multiple_exceptions& several) {  // from operands joined by && or ||
    return is_cancellation(several.first_exception());
  } catch (...) {
    return false;
  }
}

/// Runs `work` on `threads`; the caller resumes on its own executor with the result or exception. Not cancellable (the
/// slot is left empty), but work is bounded. `[&]` captures are safe: the caller is suspended until the work ends, and
/// the threads are joined before the io_context is destroyed.
template <class Work, class Result = std::invoke_result_t<Work>>
boost::asio::awaitable<Result> run_on(Threads& threads, Work work) {
  auto task = [](Work owned) -> boost::asio::awaitable<Result> { co_return owned(); };
  return boost::asio::co_spawn(
      threads.get_executor(), task(std::move(work)),
      boost::asio::bind_cancellation_slot(boost::asio::cancellation_slot(), boost::asio::use_awaitable));
}

}  // namespace feedmill
