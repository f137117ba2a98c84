// The subscriber as a part of what serves a store: callbacks, hubs, what was pushed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/websub/callbacks.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"
#include "worker/websub/subscriber.hpp"

namespace feedmill {

class WebSub {
 public:
  struct Options {
    bool answers_hubs = true;  ///< false: another worker does
    PushIntake::Options intake;
    HubClient::Options subscriber;
    Milliseconds drain{5'000};  ///< how long hubs may answer, and callbacks are answered, after stop()
  };
  /// What it works with; all outlive it.
  struct Parts {
    Refresher& refresher;
    ReadingThreads& threads;
    Fetcher& fetcher;
    StorePool& partitions;  ///< by which other partitions are asked
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  WebSub(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, const Parts& parts);

  /// Until stop() and the drain after it; not cancellable but by hurry().
  boost::asio::awaitable<void> run();
  /// No hub is asked any more; those that have been may answer for a while, and call back.
  void stop();
  /// They may not, from now on.
  void hurry();

  /// What hubs are answered until the drain is over; null: another worker answers them.
  Callbacks* callbacks() { return answers_hubs_ ? &callbacks_ : nullptr; }

 private:
  boost::asio::awaitable<void> take();
  boost::asio::awaitable<void> wait_for_end();

  const bool answers_hubs_;
  Milliseconds drain_;
  PushStore store_;
  PushIntake intake_;
  HubClient subscriber_;
  Callbacks callbacks_;
  boost::asio::steady_timer end_;
  bool stopped_ = false;
};

}  // namespace feedmill
