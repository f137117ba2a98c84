// Tells webhooks and the subscribers of the hub of events: finds whom they concern, sends one request after the other
// to each, and remembers how far each has come (DESIGN §1, WEBSUB U12–U14). None of them can slow another, or the half
// that fetches.
#pragma once

#include <chrono>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/push_out/dispatcher.hpp"
#include "worker/push_out/fan_out.hpp"

namespace feedmill {

/// Lives on one loop; what it is given outlives run().
class PushOutEngine {
 public:
  using Options = Dispatcher::Options;

  /// `homes`: as EventTail's. `memory`: of deliveries.
  PushOutEngine(const boost::asio::any_io_executor& executor, const StoreOptions& store, const FeedHomes& homes,
                EventTail& tail, Fetcher& fetcher, OutgoingMemory& memory, VerificationLimit& sites, Metrics& metrics,
                Log& log, Options options);
  PushOutEngine(const PushOutEngine&) = delete;
  PushOutEngine& operator=(const PushOutEngine&) = delete;

  /// Until stop(). Requests that are under way then may go on for `grace`; where each has come is written at the end.
  boost::asio::awaitable<void> run();
  void stop(Milliseconds grace);

 private:
  boost::asio::awaitable<void> wait_for_end();

  StoreCalls store_;
  Bell due_;  // somebody may be due
  FanOut fan_out_;
  Dispatcher dispatcher_;
  boost::asio::steady_timer end_;
  bool stopping_ = false;
};

}  // namespace feedmill
