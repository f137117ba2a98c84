// Finds the receivers of events: one worker at a time, the leader, reads the stream and makes the subscribers of each
// event due (WEBSUB U14). Sends no requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "storage/queues/subscribers.hpp"
#include "worker/base/due_lanes.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/push_out/outside_event.hpp"
#include "worker/store/store_calls.hpp"

namespace feedmill {

/// Index of subscribers by the events they receive, so that an event need not be tested against each of them. Pure.
class ConcernedIndex {
 public:
  /// Applies changes; call in the order in which they were read.
  void take(const SubscriberChanges& changes);

  /// The subscribers that match an event, by id; unordered, without duplicates.
  struct Concerned {
    std::vector<std::string> told;
    std::vector<std::string> withheld;  ///< not told because the feed is private
  };
  Concerned of(const OutsideEvent& event) const;

  /// Ids of all subscribers.
  std::vector<std::string> all() const;
  std::size_t size() const { return rows_.size(); }

 private:
  using Ids = std::unordered_set<std::string>;

  void forget(const std::string& id);

  std::unordered_map<std::string, SubscriberChanges::Row> rows_;
  std::unordered_map<std::string, Ids> of_feed_, of_channel_;
  Ids of_all_;
};

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
