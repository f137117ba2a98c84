// Calls that block, as of a store: made for the loops by whichever thread of the process is free.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

namespace feedmill {

/// Calls that are made one after another, in their order. All objects of a process share its threads. Of their calls 8
/// are made at once; up to 32 where some are kept waiting for 100 ms, besides those that have blocked for as long, as
/// while a server hangs, and as many beside these as they are where that is more; at most one for each object, and
/// every 10 s half of that number, until it is 8 again. Where the system gives no more threads, calls wait for each
/// other.
class BlockingCalls {
 public:
  BlockingCalls() = default;
  ~BlockingCalls() { join(); }
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  /// From any thread. `job` does not throw. Throws std::system_error (resource_unavailable_try_again) when the system
  /// gives no thread at all; then it is not made.
  void post(std::function<void()> job);
  /// The same; the caller resumes on its own executor, of one thread, once it is done. Not cancellable: calls are
  /// bounded.
  boost::asio::awaitable<void> finish(std::function<void()> job);
  /// Waits for what was posted.
  void join();

 private:
  class Threads;

  void make();

  std::mutex mutex_;
  std::condition_variable made_;
  std::deque<std::function<void()>> jobs_;
  bool under_way_ = false;
};

/// Makes `work()`; the caller resumes on its own executor, of one thread, with what it returned, or threw. What `[&]`
/// refers to lives until it ends, because the caller is suspended meanwhile and `calls` are joined before the
/// io_context goes.
template <class Work, class Result = std::invoke_result_t<Work>>
boost::asio::awaitable<Result> run_on(BlockingCalls& calls, Work work) {
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    const auto job = [&] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
    };
    co_await calls.finish(job);
    if (error) std::rethrow_exception(error);
  } else {
    std::optional<Result> result;
    const auto job = [&] {
      try {
        result.emplace(work());
      } catch (...) {
        error = std::current_exception();
      }
    };
    co_await calls.finish(job);
    if (error) std::rethrow_exception(error);
    co_return std::move(*result);
  }
}

}  // namespace feedmill
