// Subscriptions for coroutines, with the requests of deliveries pipelined.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/queues/pushes.hpp"
#include "worker/store/batches.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// A connection to the store separate from that of refreshes, so that neither waits for the other. All members on the
/// loop's thread. Must outlive all running calls, which are not cancellable but end within the store's timeout.
class PushStore : public StoreCalls {
 public:
  PushStore(boost::asio::any_io_executor executor, const StoreOptions& options);

  boost::asio::awaitable<StoreResult<std::optional<PushRecord>>> find(std::string hash);
  boost::asio::awaitable<StoreResult<PushNoted>> note(PushNote note);

 private:
  using Requests =
      Batches<std::variant<std::string, PushNote>,
              std::variant<std::monostate, StoreResult<std::optional<PushRecord>>, StoreResult<PushNoted>>>;

  boost::asio::awaitable<void> exchange(const Requests::Batch& batch);

  Requests requests_;
};

}  // namespace feedmill
