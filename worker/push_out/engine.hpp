// Delivers events to webhooks and hub subscribers: finds the receivers of each event, sends requests and stores each
// receiver's progress (DESIGN §1, WEBSUB U12–U14). One slow receiver delays neither the others nor fetching.
#pragma once

#include <chrono>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/push_out/dispatcher.hpp"
#include "worker/push_out/fan_out.hpp"

namespace feedmill {

/// Lives on one loop; the constructor's arguments outlive run().
class PushOutEngine {
 public:
  using Options = Dispatcher::Options;

  /// `homes`: as for EventTail. `memory`: for deliveries.
  PushOutEngine(const boost::asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
                EventTail& tail, Fetcher& fetcher, OutgoingMemory& memory, VerificationLimit& sites, Metrics& metrics,
                Log& log, Options options);
  PushOutEngine(const PushOutEngine&) = delete;
  PushOutEngine& operator=(const PushOutEngine&) = delete;

  /// Until stop(). Running requests then may take `grace`; each receiver's progress is stored at the end.
  boost::asio::awaitable<void> run();
  void stop(Milliseconds grace);

 private:
  boost::asio::awaitable<void> wait_for_end();

  StoreCalls store_;
  Bell due_;  // subscribers may be due
  FanOut fan_out_;
  Dispatcher dispatcher_;
  boost::asio::steady_timer end_;
  bool stopping_ = false;
};

}  // namespace feedmill
