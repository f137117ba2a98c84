// Store access for the WebSub coroutines: blocking calls run on threads, and concurrent requests are pipelined.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/queues/pushes.hpp"
#include "worker/observe/notices.hpp"
#include "worker/store/batches.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Has its own connection, so that deliveries and refreshes never wait for each other. All members are called on the
/// loop's thread. Must outlive all running calls, which are not cancellable but end within the store's timeout.
class PushStore : public StoreCalls {
 public:
  PushStore(boost::asio::any_io_executor executor, const StoreOptions& options);

  /// The subscription with this token hash, if any.
  boost::asio::awaitable<StoreResult<std::optional<PushRecord>>> find(std::string hash);
  /// Records a delivery; batched with concurrent calls of find() and note() into one round trip.
  boost::asio::awaitable<StoreResult<PushNoted>> note(PushNote note);
  /// Logs and counts a change of a subscription's state, and stores its notices. `now`: Redis' time.
  boost::asio::awaitable<void> tell(Log& log, Metrics& metrics, PushNews news, Milliseconds now);

 private:
  using Requests =
      Batches<std::variant<std::string, PushNote>,
              std::variant<std::monostate, StoreResult<std::optional<PushRecord>>, StoreResult<PushNoted>>>;

  boost::asio::awaitable<void> exchange(const Requests::Batch& batch);

  Requests requests_;
};

}  // namespace feedmill
