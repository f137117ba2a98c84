// Pushing out for one store (DESIGN §1): the engine and the public endpoints.
#pragma once

#include <optional>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "worker/base/log.hpp"
#include "worker/hub/outside.hpp"
#include "worker/push_out/engine.hpp"
#include "worker/push_out/event_tail.hpp"

namespace feedmill {

class PushOut {
 public:
  struct Options {
    PushOutEngine::Options engine;
    std::optional<Outside::Options> outside;  ///< none: another worker serves them
    LiveStreams::Options streams;
    FetchOptions fetch;                ///< how receivers are reached
    Milliseconds block{2'000};         ///< longest wait in Redis for an event
    Milliseconds drain{5'000};         ///< how long running requests may continue after stop()
    std::optional<FeedHomes> homes{};  ///< where to find feeds; none: all are in the store
    bool tells_of_store = false;       ///< logs outages of Redis: no other part of this process does
  };

  /// Memory for outgoing data, shared by all stores of a process.
  struct Memory {
    Memory(const boost::asio::any_io_executor& executor, MemoryBudget& budget)
        : deliveries(budget, std::size_t{64} << 20U), documents(executor, budget) {}
    OutgoingMemory deliveries;
    TopicCache documents;
  };

  /// `memory`, `metrics` and `log` outlive this.
  PushOut(const boost::asio::any_io_executor& executor, const StoreOptions& store, Options options, Memory& memory,
          Metrics& metrics, Log& log);

  /// Until stop() and the drain; not cancellable, except by hurry().
  boost::asio::awaitable<void> run();
  void stop();
  /// Stops without a drain: running requests end.
  void hurry();
  /// Applies to later requests.
  void set_fetch_options(FetchOptions options);

  /// Clients of the live stream.
  std::size_t open_streams() const { return streams_.figures().open; }
  /// Null: another worker serves the public endpoints.
  Outside* outside() { return outside_ ? &*outside_ : nullptr; }

 private:
  boost::asio::awaitable<void> push();
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
  PushOutEngine engine_;
  LiveStreams streams_;
  std::optional<Outside> outside_;
  Bell figures_bell_, topics_bell_;
  bool stopped_ = false;
};

}  // namespace feedmill
