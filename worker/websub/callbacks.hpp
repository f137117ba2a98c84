// Answers hubs' requests for one store: verifies intent, accepts deliveries (WEBSUB §3, §6).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/listener/by_partition.hpp"
#include "worker/listener/client_share.hpp"
#include "worker/listener/connection.hpp"
#include "worker/listener/listener.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

/// Answers requests to the callbacks of one store. Used on the loop's thread.
class Callbacks {
 public:
  /// Collaborators; all must outlive this.
  struct Parts {
    PushStore& store;
    PushIntake& intake;
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  explicit Callbacks(const Parts& parts) : parts_(parts) {}

  /// Answers a GET or POST after its head has been read. `target`: the parsed target of `visit`; must have a token.
  boost::asio::awaitable<HttpReply> answer(Visit& visit, CallbackTarget target);
  /// From now on, answers hubs that they should retry later.
  void close() { closed_ = true; }

 private:
  boost::asio::awaitable<HttpReply> verify(CallbackTarget target);
  boost::asio::awaitable<HttpReply> deliver(Visit& visit, const CallbackTarget& target);
  boost::asio::awaitable<HttpReply> accept(Visit& visit, const PushRecord& record,
                                           std::unique_ptr<MemoryBudget::Share> memory);
  boost::asio::awaitable<void> tell(PushNews news);
  /// Whether the store has answered; notes and counts it if not.
  template <class Value>
  bool has_come(const StoreResult<Value>& answer) {
    way_.note(answer.has_value());
    if (!answer) parts_.metrics.store_error(answer.error());
    return answer.has_value();
  }

  Parts parts_;
  WayToStore way_;
  bool closed_ = false;
  std::uint64_t receiving_ = 0;  // bytes reserved for incomplete bodies
};

// Listens for requests from hubs (SECURITY W1). Never shares a port with the admin listener.

class CallbackListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string base;  ///< path of websub.public_url, no trailing slash
    /// SECURITY W1. If we listen on loopback, there is a proxy in front: its network may use all connections.
    Listener::Places places{.connections = 256, .per_network = 32};
    RequestLimits limits{.head = {.bytes = 64U << 10U, .line = 20U << 10U, .fields = 100},
                         .body_bytes = 4U << 20U,
                         .body_time = std::chrono::seconds(15),
                         .answer_time = std::chrono::seconds(5)};
    /// Limit of requests to callback paths: sustained per second, and burst (SECURITY W6).
    std::size_t per_second = 10'000, burst = 20'000;
  };
  /// Collaborators; all must outlive the listener.
  struct Parts {
    ByPartition<Callbacks> callbacks;  ///< at least one
    Metrics& metrics;                  ///< counts requests that match no callback
    Log& log;
  };

  /// Binds and listens; serve() answers connections. Everything runs on `executor`, which must have one thread.
  static boost::system::result<std::unique_ptr<CallbackListener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const Options& options, Parts parts);
  CallbackListener(const CallbackListener&) = delete;
  CallbackListener& operator=(const CallbackListener&) = delete;

  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

  /// Answers requests until cancelled; closes all connections before it returns.
  boost::asio::awaitable<void> serve();

 private:
  CallbackListener(std::unique_ptr<Listener> listener, const Options& options, Parts parts)
      : listener_(std::move(listener)),
        options_(options),
        parts_(std::move(parts)),
        requests_(static_cast<double>(options.per_second), static_cast<double>(options.burst)) {}

  boost::asio::awaitable<HttpReply> answer(Visit& visit);
  HttpReply answer_for_none(const Visit& visit);

  std::unique_ptr<Listener> listener_;
  Options options_;
  Parts parts_;
  TokenBucket requests_;
};

}  // namespace feedmill
