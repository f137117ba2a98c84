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
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/result.hpp>

#include "worker/admin/listener.hpp"
#include "worker/log.hpp"
#include "worker/memory_budget.hpp"
#include "worker/metrics.hpp"
#include "worker/push/callback.hpp"
#include "worker/push/push_intake.hpp"
#include "worker/push/push_store.hpp"

namespace feedmill {

class CallbackListener {
 public:
  struct Options {
    boost::asio::ip::tcp::endpoint listen;
    std::string base;               ///< path of websub.public_url, no slash at its end
    std::size_t connections = 256;  ///< at once
    std::size_t per_address = 32;   ///< of these from one address; not of this machine's own: proxies stand there
    std::chrono::milliseconds header_time{5'000}, body_time{15'000}, part_time{2'000};
    std::uint64_t max_body_bytes = 4U << 20U;
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
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  struct Visit;

  CallbackListener(std::unique_ptr<Listener> listener, const Options& options, const Parts& parts)
      : listener_(std::move(listener)), options_(options), parts_(parts), tokens_(static_cast<double>(options.burst)) {}

  boost::asio::awaitable<void> converse(boost::asio::ip::tcp::socket socket);
  boost::asio::awaitable<void> part(boost::beast::tcp_stream& stream) const;
  boost::asio::awaitable<HttpReply> answer(Visit& visit);
  bool is_within_rate();
  boost::asio::awaitable<HttpReply> verify(CallbackTarget target);
  boost::asio::awaitable<HttpReply> deliver(Visit& visit, const CallbackTarget& target);
  boost::asio::awaitable<bool> read_body(Visit& visit, MemoryBudget::Share& memory, HttpReply& refusal);
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
