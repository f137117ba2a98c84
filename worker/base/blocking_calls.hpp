// Blocking calls (such as to the store), run for the loops on the process's threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace feedmill {

/// Runs posted calls one after another, in order. All objects of a process share its threads, and each object runs at
/// most one call at a time. Normally up to 8 calls run concurrently. While calls wait for 100 ms or more, the limit
/// doubles step by step, up to the number of calls that have blocked for that long (as when a server hangs) plus 32, or
/// plus the number of blocked calls if that is more. Every 10 s without such a wait it is halved, down to 8. If the
/// system refuses more threads, calls queue for the existing ones.
class BlockingCalls {
 public:
  BlockingCalls() = default;
  ~BlockingCalls() { join(); }
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  /// From any thread. `job` must not throw. Throws std::system_error (resource_unavailable_try_again) if there is no
  /// thread yet and the system refuses one; `job` is then not run.
  void post(std::function<void()> job);
  /// Posts `job`; the caller resumes on its own single-threaded executor when the job is done. Not cancellable, but
  /// calls are bounded. Throws as post() does.
  boost::asio::awaitable<void> finish(std::function<void()> job);
  /// Waits for the posted jobs.
  void join();

 private:
  class Threads;

  void make();

  std::mutex mutex_;
  std::condition_variable made_;
  std::deque<std::function<void()>> jobs_;
  bool under_way_ = false;
};

/// Runs `work()` on `calls`; the caller resumes on its own single-threaded executor with the result or exception. `[&]`
/// captures are safe: the caller is suspended until the call ends, and `calls` are joined before the io_context is
/// destroyed.
template <class Work, class Result = std::invoke_result_t<Work>>
boost::asio::awaitable<Result> run_on(BlockingCalls& calls, Work work) {
  std::exception_ptr error;
  [[maybe_unused]] std::optional<std::conditional_t<std::is_void_v<Result>, std::monostate, Result>> result;
  const auto job = [&] {
    try {
      if constexpr (std::is_void_v<Result>)
        work();
      else
        result.emplace(work());
    } catch (...) {
      error = std::current_exception();
    }
  };
  co_await calls.finish(job);
  if (error) std::rethrow_exception(error);
  if constexpr (!std::is_void_v<Result>) co_return std::move(*result);
}

// A thread pool.

/// Like boost::asio::thread_pool, except that its constructor throws if the system refuses a thread; Boost's waits
/// forever for the threads it has already started. From any thread.
class Threads {
 public:
  /// `count` > 0. Throws std::system_error (resource_unavailable_try_again) if the system refuses a thread.
  explicit Threads(std::size_t count);
  /// Waits for posted work.
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  boost::asio::io_context::executor_type get_executor() { return work_.get_executor(); }
  /// Waits for posted work; nothing may be posted afterwards. From one thread only.
  void join();

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::vector<std::thread> threads_;
};

/// Whether `error` means that the system refused a thread, including Boost's own exception for it.
bool is_short_of_threads(const std::exception& error);

/// Error message for is_short_of_threads(), with the remedy.
inline constexpr const char* short_of_threads =
    "this process has reached its thread limit; raise it: TasksMax= of a unit, the process limit of a pod, a "
    "container or a user";

}  // namespace feedmill
