// A connection to the store for coroutines.
#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/store/server_wait.hpp"

namespace feedmill {

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
