// A connection to the store for coroutines.
#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "storage/redis/redis.hpp"
#include "storage/redis/store_error.hpp"
#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

// Waits for a server's answer on the loop, without blocking a thread.

/// Waits until the answer can be read without blocking or `wait.until` passes. Returns at once if the connection failed
/// or no descriptor is left. Leaves the socket unchanged. Not cancellable.
boost::asio::awaitable<void> until_answered(ServerWait wait);

/// Sends commands with `begin()`, waits on the loop, and returns what `end()` reads. `begin()` returns a
/// StoreResult<ServerWait>; its error is returned instead. Both run on `calls`, which must run nothing else in between.
template <class Begin, class End, class Result = std::invoke_result_t<End>>
boost::asio::awaitable<Result> wait_at_server(BlockingCalls& calls, Begin begin, End end) {
  const StoreResult<ServerWait> begun = co_await run_on(calls, begin);
  if (!begun) co_return begun.error();
  co_await until_answered(*begun);
  co_return co_await run_on(calls, end);
}

/// A connection that runs its calls off the loop, one after another. Outlives every running call. Calls are not
/// cancellable; they end within the store's timeout.
class StoreCalls {
 public:
  explicit StoreCalls(const StoreOptions& options) : store_(options) {}
  StoreCalls(const StoreCalls&) = delete;
  StoreCalls& operator=(const StoreCalls&) = delete;

  /// Runs `work(store)`, over a new connection if the server has closed the old one; the caller resumes on its own
  /// executor.
  template <class Work>
  auto call(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(calls_, [this, work = std::move(work)]() mutable {
      store_.leave_closed();
      return work(store_);
    });
  }

  /// Runs `begin(store)`, which sends a blocking command and returns a StoreResult<ServerWait>, then `end(store)`,
  /// which reads its answer; blocks no thread in between. Nothing else may be called until it ends.
  template <class Begin, class End>
  auto wait(Begin begin, End end) -> boost::asio::awaitable<std::invoke_result_t<End, Store&>> {
    return wait_at_server(
        calls_, [this, begin = std::move(begin)]() mutable { return begin(store_); },
        [this, end = std::move(end)]() mutable { return end(store_); });
  }
  /// Ends a running wait() with an error.
  void break_wait() { store_.break_wait(); }

 private:
  Store store_;
  BlockingCalls calls_;
};

}  // namespace feedmill
