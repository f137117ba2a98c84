// Finds the receivers of events: one worker at a time, the leader, reads the stream and makes the subscribers of each
// event due (WEBSUB U14). Sends no requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/queues/subscribers.hpp"
#include "worker/base/due_lanes.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/concerned.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Lives on one loop; all constructor arguments must outlive it.
class FanOut {
 public:
  struct Options {
    std::string token;  ///< unique to this worker
    Milliseconds look;  ///< interval of polls for missed events
    Milliseconds lead;  ///< lease of the leader
  };

  /// Rings `due` when subscribers are due.
  FanOut(const boost::asio::any_io_executor& executor, StoreCalls& store, EventTail& tail, WakeEvent& due,
         Metrics& metrics, Options options);
  ~FanOut();
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  /// Runs until stop().
  boost::asio::awaitable<void> run();
  void stop();
  /// Call after run(): releases the lead, so that another worker can take it at once.
  boost::asio::awaitable<void> let_go();

 private:
  using Clock = std::chrono::steady_clock;

  /// Interval of attempts to lead while another worker leads.
  Milliseconds look_to_lead() const { return options_.lead / 5; }
  boost::asio::awaitable<bool> hold_lead();
  boost::asio::awaitable<bool> look_through();
  boost::asio::awaitable<bool> learn_changes();
  // By value, because the tail's newest id changes during the call.
  boost::asio::awaitable<bool> wake_all(std::string before, std::string up_to);
  boost::asio::awaitable<bool> wake(std::vector<Subscribers::Concerned> concerned, std::string mark);
  boost::asio::awaitable<void> keep_up();

  StoreCalls& store_;
  EventTail& tail_;
  WakeEvent& due_;
  Metrics& metrics_;
  const Options options_;
  EventTail::Listener listener_;
  WakeEvent wake_;

  bool leading_ = false;
  std::string mark_;           // position up to which the stream has been processed
  std::uint64_t changes_ = 0;  // number of the last change in the index
  ConcernedIndex index_;
  Clock::time_point renew_at_, upkeep_at_;
  bool stopping_ = false;
};

}  // namespace feedmill
