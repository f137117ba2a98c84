#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "storage/store/store.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// A connection to the store, used off the loop. Outlives every running call. Calls are not cancellable; they end
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

  /// As call(), for idempotent work: repeats it once over a new connection if the old one turns out to be closed, as
  /// after a restart of Redis.
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

}  // namespace feedmill
