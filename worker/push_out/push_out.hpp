// Pushes out the events of one store (DESIGN §1): deliveries, the live stream and the public endpoints.
#pragma once

#include <chrono>
#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/log.hpp"
#include "worker/push_out/dispatcher.hpp"
#include "worker/push_out/event_tail.hpp"
#include "worker/push_out/fan_out.hpp"
#include "worker/push_out/outside.hpp"

namespace feedmill {

/// Delivers events to webhooks and hub subscribers: finds the receivers of each event, sends requests and stores the
/// progress of each receiver (DESIGN §1, WEBSUB U12–U14). A slow receiver delays neither the others nor fetching. Also
/// serves the live stream and the public endpoints of the store. Lives on one loop.
class PushOut {
 public:
  struct Options {
    Dispatcher::Options engine;
    std::optional<Outside::Options> outside;  ///< none: another worker serves the public endpoints
    LiveStreams::Options streams;
    FetchOptions fetch;                ///< how receivers are reached
    Milliseconds block{2'000};         ///< longest wait in Redis for an event
    Milliseconds drain{5'000};         ///< how long running requests may continue after stop()
    std::optional<FeedHomes> homes{};  ///< where to look up feeds; none: all are in this store
    bool tells_of_store = false;       ///< log Redis outages, because no other part of this process does
  };

  /// Memory for outgoing data; shared by all stores of a process.
  struct Memory {
    Memory(const boost::asio::any_io_executor& executor, MemoryBudget& budget)
        : deliveries(budget, std::size_t{64} << 20U), documents(executor, budget) {}
    OutgoingMemory deliveries;
    TopicCache documents;
  };

  /// `memory`, `metrics` and `log` must outlive this.
  PushOut(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, Memory& memory,
          Metrics& metrics, Log& log);

  /// Runs until stop() and the end of the drain; not cancellable, but hurry() ends the drain.
  boost::asio::awaitable<void> run();
  void stop();
  /// Stops without a drain: running requests end.
  void hurry();
  /// Sets the options for later requests.
  void set_fetch_options(FetchOptions options);

  /// The number of clients of the live stream.
  std::size_t open_streams() const { return streams_.figures().open; }
  /// Null if another worker serves the public endpoints.
  Outside* outside() { return outside_ ? &*outside_ : nullptr; }

 private:
  boost::asio::awaitable<void> push();
  void stop_pushing(Milliseconds grace);
  boost::asio::awaitable<void> keep_figures();
  boost::asio::awaitable<void> keep_stream_figures();
  boost::asio::awaitable<void> close_ended_topics();

  Metrics& metrics_;
  Log& log_;
  Milliseconds drain_;
  bool tells_of_store_;
  const bool is_of_all_;
  StoreCalls store_;
  const FeedHomes homes_;
  EventTail tail_;
  Fetcher fetcher_;
  VerificationLimit sites_;
  StoreCalls deliveries_;  // the store, over another connection
  WakeEvent due_;          // notified when subscribers may be due
  FanOut fan_out_;
  Dispatcher dispatcher_;
  boost::asio::steady_timer end_;  // of running requests
  LiveStreams streams_;
  std::optional<Outside> outside_;
  WakeEvent figures_due_, topics_due_;
  bool stopped_ = false;
};

}  // namespace feedmill
