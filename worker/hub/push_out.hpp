// The part of a running process that tells others (DESIGN §1): the engine, and what is reached from outside.
#pragma once

#include <memory>
#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/hub/outside_listener.hpp"
#include "worker/push_out/engine.hpp"
#include "worker/push_out/event_tail.hpp"

namespace feedmill {

class PushOut {
 public:
  struct Options {
    PushOutEngine::Options engine;
    std::optional<OutsideListener::Options> outside;  ///< none: another worker has it
    LiveStreams::Options streams;
    FetchOptions fetch;           ///< how receivers are reached
    Milliseconds drain{5'000};    ///< how long requests may go on after stop()
    bool tells_of_store = false;  ///< logs when Redis goes and comes back: nobody else in this process does
  };

  static boost::system::result<std::unique_ptr<PushOut>, ListenError> open(const boost::asio::any_io_executor& executor,
                                                                           const StoreOptions& store, Options options,
                                                                           Metrics& metrics, Log& log);

  /// Until stop() and the drain after it; not cancellable but by hurry().
  boost::asio::awaitable<void> run();
  void stop();
  /// Nothing may go on any longer.
  void hurry();
  /// For requests that begin from now on.
  void set_fetch_options(FetchOptions options);

  /// Clients of the live stream.
  std::size_t open_streams() const { return streams_.figures().open; }
  /// Null: it has none.
  const OutsideListener* outside() const { return outside_.get(); }

 private:
  PushOut(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, Metrics& metrics,
          Log& log);

  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<void> push();
  boost::asio::awaitable<void> keep_figures();
  boost::asio::awaitable<void> close_ended_topics();

  Metrics& metrics_;
  Log& log_;
  Milliseconds drain_;
  bool tells_of_store_;
  StoreThread store_;
  EventTail tail_;
  Fetcher fetcher_;
  PushOutEngine engine_;
  LiveStreams streams_;
  std::unique_ptr<OutsideListener> outside_;
  Bell figures_bell_, topics_bell_;
  boost::asio::steady_timer end_;
  bool stopped_ = false, over_ = false;
};

}  // namespace feedmill
