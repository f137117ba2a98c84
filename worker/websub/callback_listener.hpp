// Where hubs come to: verifies intent, takes deliveries (WEBSUB §3, §6; SECURITY §11). Never shares a port with the
// admin listener.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "worker/base/log.hpp"
#include "worker/base/memory_budget.hpp"
#include "worker/listener/listener.hpp"
#include "worker/observe/metrics.hpp"
#include "worker/websub/callback.hpp"
#include "worker/websub/push_intake.hpp"
#include "worker/websub/push_store.hpp"

namespace feedmill {

class CallbackListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string base;  ///< path of websub.public_url, no slash at its end
    /// SECURITY W1. A listener on loopback has a proxy before it: that network has all places.
    Listener::Places places{.connections = 256, .per_network = 32};
    RequestLimits limits{.head = {.bytes = 64U << 10U, .line = 20U << 10U, .fields = 100},
                         .body_bytes = 4U << 20U,
                         .body_time = std::chrono::seconds(15),
                         .answer_time = std::chrono::seconds(5)};
    /// Requests to what may be a path of ours: so many a second in the long run, and so many at once (SECURITY W6).
    std::size_t per_second = 10'000, burst = 20'000;
  };
  /// What it works with; all outlive it.
  struct Parts {
    PushStore& store;
    PushIntake& intake;
    MemoryBudget& memory;
    Metrics& metrics;
    Log& log;
  };

  /// Binds and listens; connections are answered once serve() runs. All on `executor`, which has one thread.
  static boost::system::result<std::unique_ptr<CallbackListener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const Options& options, const Parts& parts);
  CallbackListener(const CallbackListener&) = delete;
  CallbackListener& operator=(const CallbackListener&) = delete;

  boost::asio::ip::tcp::endpoint endpoint() const { return listener_->endpoint(); }

  /// Answers until cancelled or closed; when it returns no connection is left.
  boost::asio::awaitable<void> serve();
  void close() { listener_->close(); }

 private:
  CallbackListener(std::unique_ptr<Listener> listener, const Options& options, const Parts& parts)
      : listener_(std::move(listener)), options_(options), parts_(parts), tokens_(static_cast<double>(options.burst)) {}

  boost::asio::awaitable<HttpReply> answer(Visit& visit);
  boost::asio::awaitable<HttpReply> judge(Visit& visit);
  bool is_within_rate();
  boost::asio::awaitable<HttpReply> verify(CallbackTarget target);
  boost::asio::awaitable<HttpReply> deliver(Visit& visit, const CallbackTarget& target);
  boost::asio::awaitable<HttpReply> accept(Visit& visit, const PushRecord& record,
                                           std::unique_ptr<MemoryBudget::Share> memory);
  boost::asio::awaitable<void> tell(PushNews news);

  std::unique_ptr<Listener> listener_;
  Options options_;
  Parts parts_;
  double tokens_;  // requests that may come at once
  std::chrono::steady_clock::time_point counted_ = std::chrono::steady_clock::now();
};

}  // namespace feedmill
