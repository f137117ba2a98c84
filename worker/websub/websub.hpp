// The WebSub subscriber of one store: callbacks, hubs, pushed documents.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/websub/callbacks.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"
#include "worker/websub/subscriber.hpp"

namespace feedmill {

/// Runs on one loop. See Parts for lifetimes.
class WebSub {
 public:
  struct Options {
    bool answers_hubs = true;  ///< false: another worker answers hubs
    PushIntake::Options intake;
    HubClient::Options subscriber;
    Milliseconds drain{5'000};  ///< after stop(): time for hubs to answer and call back
  };
  /// Collaborators; all must outlive this.
  struct Parts {
    Refresher& refresher;
    ReadingThreads& threads;
    Fetcher& fetcher;
    StorePool& partitions;  ///< access to other partitions
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  WebSub(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, const Parts& parts);

  /// Runs until stop() and the end of the drain; not cancellable, but hurry() ends the drain early.
  boost::asio::awaitable<void> run();
  /// Stops contacting hubs; those already contacted may still answer and call back during the drain.
  void stop();
  /// Ends the drain.
  void hurry();

  /// Handler of hubs' requests; null if another worker answers hubs.
  Callbacks* callbacks() { return answers_hubs_ ? &callbacks_ : nullptr; }

 private:
  boost::asio::awaitable<void> take();

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
