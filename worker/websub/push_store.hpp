// Subscriptions for coroutines: blocking calls on threads, with requests of deliveries pipelined.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "storage/queues/pushes.hpp"
#include "worker/base/blocking_calls.hpp"

namespace feedmill {

/// A connection to the store separate from that of refreshes, so that neither waits for the other. All members on the
/// loop's thread. Must outlive all running calls, which are not cancellable but end within the store's timeout.
class PushStore {
 public:
  PushStore(boost::asio::any_io_executor executor, const StoreOptions& options);
  PushStore(const PushStore&) = delete;
  PushStore& operator=(const PushStore&) = delete;

  boost::asio::awaitable<StoreResult<std::optional<PushRecord>>> find(std::string hash);
  boost::asio::awaitable<StoreResult<PushNoted>> note(PushNote note);

  /// Runs `work(store)`.
  template <class Work>
  auto call(Work work) -> boost::asio::awaitable<std::invoke_result_t<Work, Store&>> {
    return run_on(calls_, [this, work = std::move(work)]() mutable { return work(store_); });
  }

 private:
  struct Waiting;
  boost::asio::awaitable<void> wait_for(Waiting& waiting);
  boost::asio::awaitable<void> serve();
  void exchange(const std::vector<Waiting*>& batch);

  boost::asio::any_io_executor executor_;
  Store store_;
  std::vector<Waiting*> waiting_;  // on the frames of suspended coroutines
  bool busy_ = false;
  BlockingCalls calls_;
};

}  // namespace feedmill
