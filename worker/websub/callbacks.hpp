// Answers hubs for one store: verifies intent, accepts deliveries (WEBSUB §3, §6).
#pragma once

#include <memory>

#include <boost/asio/awaitable.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/listener/connection.hpp"
#include "worker/listener/way_to_store.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

/// On the loop's thread.
class Callbacks {
 public:
  /// Collaborators; all must outlive this.
  struct Parts {
    PushStore& store;
    PushIntake& intake;
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  explicit Callbacks(const Parts& parts) : parts_(parts) {}

  /// Answers a GET or a POST whose head has been read. `target`: of `visit`; has a token.
  boost::asio::awaitable<HttpReply> answer(Visit& visit, CallbackTarget target);
  /// From now on, asks hubs to retry later.
  void close() { closed_ = true; }

 private:
  boost::asio::awaitable<HttpReply> verify(CallbackTarget target);
  boost::asio::awaitable<HttpReply> deliver(Visit& visit, const CallbackTarget& target);
  boost::asio::awaitable<HttpReply> accept(Visit& visit, const PushRecord& record,
                                           std::unique_ptr<MemoryBudget::Share> memory);
  boost::asio::awaitable<void> tell(PushNews news);

  Parts parts_;
  WayToStore way_;
  bool closed_ = false;
  std::uint64_t receiving_ = 0;  // bytes reserved for incomplete bodies
};

}  // namespace feedmill
