// The deliver half of a running process (DESIGN §1): a Deliverer beside the loop, driven from it.
#pragma once

#include <atomic>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/observe/refused_work.hpp"
#include "worker/timelines/deliverer.hpp"

namespace feedmill {

/// All members are called on the loop's thread.
class DeliverLoop {
 public:
  struct Options {
    DelivererOptions deliverer;
    Milliseconds block{2'000};     ///< longest wait in Redis for a record, which is handed to who waits: its right to
                                   ///< deliver must last as long, or be renewed by its heartbeats; 0: none
    bool wait_for_others = false;  ///< when told to finish while another owner delivers: wait until it has
    bool tells_of_store = false;   ///< logs when Redis goes and comes back: nobody else in this process does
  };

  /// `metrics` and `log` outlive this.
  DeliverLoop(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options,
              Metrics& metrics, Log& log);
  DeliverLoop(const DeliverLoop&) = delete;
  DeliverLoop& operator=(const DeliverLoop&) = delete;

  /// Until finish() or stop() was called and heeded. Does not throw but for want of memory.
  boost::asio::awaitable<void> run();
  /// Whether another process looks for the right to deliver first: this one seldom does then (RELIABILITY L30).
  void set_yields(bool yields) { yields_ = yields; }
  /// Delivers what has been committed, then ends.
  void finish();
  /// Ends after the step under way; what is left is delivered by the next.
  void stop();
  /// Gives up a wait for a server that may not answer any more, and looks.
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
  bool go_on_ = false;                  // told to finish while nothing waited: the next pause is none
  bool broke_ = false;                  // told to finish while it waited in Redis: that is no error
  std::atomic<bool> stopping_ = false;  // read beside the loop as well
  RefusedWork refused_;
  bool store_down_ = false, outage_told_ = false, merge_down_ = false;
  std::uint64_t reconnects_ = 0;
  int attempts_ = 0;
  std::chrono::steady_clock::time_point look_until_;  // for the right that another owner has
  std::chrono::steady_clock::time_point give_up_at_;  // waiting for another owner
  std::chrono::steady_clock::time_point bear_until_;  // errors, when told to finish
  BlockingCalls calls_;
};

}  // namespace feedmill
