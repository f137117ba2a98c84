// The subscriber as a part of a running worker: callbacks, hubs, what was pushed.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/websub/callback_listener.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"
#include "worker/websub/subscriber.hpp"

namespace feedmill {

class WebSub {
 public:
  struct Options {
    std::optional<CallbackListener::Options> callbacks;  ///< none: another worker answers them
    PushIntake::Options intake;
    HubClient::Options subscriber;
    Milliseconds drain{5'000};  ///< how long hubs may answer, and callbacks are answered, after stop()
  };
  /// What it works with; all outlive it.
  struct Parts {
    Refresher& refresher;
    ReadingThreads& threads;
    Fetcher& fetcher;
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  static boost::system::result<std::unique_ptr<WebSub>, ListenError> open(const boost::asio::any_io_executor& executor,
                                                                          const StoreOptions& store, Options options,
                                                                          const Parts& parts);

  /// Until stop() and the drain after it; not cancellable but by hurry().
  boost::asio::awaitable<void> run();
  /// No hub is asked any more; those that have been may answer for a while, and call back.
  void stop();
  /// They may not, from now on.
  void hurry();

  /// Null: it has none.
  const CallbackListener* callbacks() const { return callbacks_.get(); }

 private:
  WebSub(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, const Parts& parts);

  boost::asio::awaitable<void> answer();
  boost::asio::awaitable<void> wait_for_end();

  Milliseconds drain_;
  PushStore store_;
  PushIntake intake_;
  HubClient subscriber_;
  std::unique_ptr<CallbackListener> callbacks_;
  boost::asio::steady_timer end_;
  bool stopped_ = false;
};

}  // namespace feedmill
