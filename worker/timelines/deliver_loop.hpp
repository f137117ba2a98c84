// Delivers events in a running process (DESIGN §1): drives a Deliverer and runs its blocking calls off the loop.
#pragma once

#include <atomic>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/timelines/deliverer.hpp"

namespace feedmill {

/// All members are called on the loop's thread.
class DeliverLoop {
 public:
  struct Options {
    DelivererOptions deliverer;
    Milliseconds block{2'000};     ///< longest wait in Redis for a record; the lease must last longer or be renewed by
                                   ///< heartbeats; 0: no wait
    bool wait_for_others = false;  ///< finish() also waits for another owner that is delivering
    bool tells_of_store = false;   ///< log Redis outages, because no other part of this process does
  };

  /// `metrics` and `log` must outlive this.
  DeliverLoop(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options,
              Metrics& metrics, Log& log);
  DeliverLoop(const DeliverLoop&) = delete;
  DeliverLoop& operator=(const DeliverLoop&) = delete;

  /// Runs until finish() or stop() takes effect, then releases the lease. Throws only std::bad_alloc.
  boost::asio::awaitable<void> run();
  /// Whether another process polls for the lease first; this one then polls less often (RELIABILITY L30).
  void set_yields(bool yields) { yields_ = yields; }
  /// Delivers everything committed so far; run() then returns.
  void finish();
  /// Makes run() return after the current step; the next owner delivers the rest.
  void stop();
  /// Interrupts a wait in Redis if the server may be down; the next step then reports an error.
  void break_wait() { deliverer_.break_wait(); }

 private:
  boost::asio::awaitable<bool> take_step();
  boost::asio::awaitable<bool> wait_for_record(Milliseconds block);
  boost::asio::awaitable<void> wait_for_right(Milliseconds block);
  boost::asio::awaitable<void> pause(Milliseconds longest);
  void tell(const Deliverer::Step& step);
  void store_went(const StoreError& error);
  void store_came();

  Options options_;
  Metrics& metrics_;
  Log& log_;
  Deliverer deliverer_;
  boost::asio::steady_timer timer_;
  bool yields_ = false;
  bool finishing_ = false;
  bool go_on_ = false;                  // finish() was called between waits: skip the next pause
  bool broke_ = false;                  // finish() interrupted a wait in Redis: its error is expected
  std::atomic<bool> stopping_ = false;  // also read off the loop
  RefusedWork refused_;
  bool store_down_ = false, outage_told_ = false, merge_down_ = false;
  std::uint64_t reconnects_ = 0;
  int attempts_ = 0;
  std::chrono::steady_clock::time_point look_until_;  // until when to poll for another owner's lease
  std::chrono::steady_clock::time_point give_up_at_;  // until when finish() waits for another owner
  std::chrono::steady_clock::time_point bear_until_;  // until when errors are ignored while finishing
  BlockingCalls calls_;
};

}  // namespace feedmill
