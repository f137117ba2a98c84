// A client's connection to one of our listeners and the requests on it, read within bounds (SECURITY W1).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "worker/base/memory_budget.hpp"
#include "worker/listener/request_head.hpp"

namespace feedmill {

/// A response, with its own or a shared body.
struct HttpReply : boost::beast::http::response<boost::beast::http::string_body> {
  using Base = boost::beast::http::response<boost::beast::http::string_body>;
  using Base::Base;

  std::shared_ptr<const std::string> shared_body;  ///< sent instead of body(); null: none
};

/// A response that must not be cached or sniffed (SECURITY O4).
HttpReply http_reply(boost::beast::http::status status, std::string_view type, std::string body);
/// A response with its status as the body.
HttpReply http_reply(boost::beast::http::status status);
/// 503 with Retry-After: `after` seconds.
HttpReply try_later(std::string_view after);
/// 405 with Allow: `methods`, such as "GET, HEAD".
HttpReply not_allowed(std::string_view methods);

/// Limits of a client's requests and times.
struct RequestLimits {
  HeadLimits head;
  std::uint64_t body_bytes = 8U << 10U;
  std::chrono::milliseconds pause{5'000};         ///< between bytes, and before the first
  std::chrono::milliseconds head_time{5'000};     ///< from the end of the previous response to the end of the head
  std::chrono::milliseconds body_time{5'000};     ///< from the end of the head to the end of the body
  std::chrono::milliseconds answer_time{10'000};  ///< for the client to receive the response
  std::chrono::milliseconds part_time{2'000};     ///< for the last response to arrive before closing
  std::size_t requests = 1'000;                   ///< per connection
  MemoryBudget* memory = nullptr;                 ///< counts heads, bodies and responses; null: not counted
};

/// Lives on its listener's thread.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  /// `limits` outlives this.
  Connection(boost::asio::ip::tcp::socket socket, const boost::asio::ip::address& client, const RequestLimits& limits);

  /// Mapped IPv4 as IPv4.
  const boost::asio::ip::address& client() const { return client_; }
  const boost::asio::ip::address& network() const { return network_; }

  /// Start of the current wait for the client to send or receive; empty while we work.
  std::optional<Clock::time_point> waiting_since() const { return waiting_since_; }
  /// Closes the connection: pending reads and writes fail, which ends its coroutine.
  void drop();
  bool dropped() const { return dropped_; }

  /// Reads and discards input for a while after the last response: closing with unread input would reset the connection
  /// and lose the response.
  boost::asio::awaitable<void> part();

 private:
  friend class Visit;

  boost::asio::awaitable<bool> receive(Clock::time_point until);
  /// Counts the read buffer and `more` bytes.
  void hold(std::size_t more);
  /// Starts the time for the client to receive something.
  void begin_to_send();

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;  // limited to the size of a head; bodies pass through it in parts
  const boost::asio::ip::address client_, network_;
  const RequestLimits& limits_;
  std::optional<Clock::time_point> waiting_since_ = Clock::now();
  bool dropped_ = false;
  std::optional<MemoryBudget::Share> memory_;
};

/// One HTTP request; destroyed after the response is sent.
class Visit {
 public:
  using Header = boost::beast::http::request_header<>;

  explicit Visit(Connection& connection);
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// Receives the head. Empty: head() is complete, or the client is gone(). Otherwise the error status.
  boost::asio::awaitable<std::optional<boost::beast::http::status>> read_head();

  const Header& head() const { return head_; }
  const boost::asio::ip::address& client() const { return connection_.client(); }

  /// Receives the body. Empty: body() is complete, or the client is gone(). Otherwise the error response. `may_hold`
  /// counts the bytes to be held and returns whether they fit; it is called with the expected size first, then after
  /// each part, and once it refuses, the client is asked to retry. `most`: limit in bytes, replaces
  /// RequestLimits::body_bytes. Trailers are dropped.
  boost::asio::awaitable<std::optional<HttpReply>> read_body(std::function<bool(std::uint64_t)> may_hold = {},
                                                             std::optional<std::uint64_t> most = {});
  std::string& body() { return parser_.get().body(); }

  /// Hands the connection over: the caller sends the response on the socket. This class and the listener no longer
  /// read, limit or close it; its slot is freed when answer() returns (that reply is ignored). Only for the last
  /// response on a connection: input after the head is lost.
  boost::asio::ip::tcp::socket take_over();

  /// Whether the response has become pointless: the client has left, or the connection was taken over.
  bool gone() const { return gone_; }
  /// Whether the request was read completely and the client keeps the connection open.
  bool may_stay() const { return parser_.is_header_done() && parser_.is_done() && parser_.keep_alive(); }
  /// Sends the response; `stay`: keep the connection open. False if the client does not receive it.
  boost::asio::awaitable<bool> send(HttpReply reply, bool stay);

  /// A response in parts instead of send(); closes the connection afterwards. Call begin(), write() for each part,
  /// which must not be empty, and end(); without end() the client sees a truncated response. Each returns false if the
  /// client does not receive it: then send nothing further.
  boost::asio::awaitable<bool> begin(HttpReply head);
  boost::asio::awaitable<bool> write(std::string_view part);
  boost::asio::awaitable<bool> end();
  /// Whether begin() was called.
  bool answered() const { return answered_; }

 private:
  boost::asio::awaitable<bool> send_shared(HttpReply reply);
  template <class Buffers>
  boost::asio::awaitable<bool> put(const Buffers& bytes);
  /// Counts the head, the body and `answer` bytes.
  void count(std::size_t answer = 0);
  std::optional<boost::beast::http::status> parse_head(std::size_t size);
  std::optional<boost::beast::http::status> parse_body(std::uint64_t& consumed);

  Connection& connection_;
  boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
  Header head_;
  bool gone_ = false;
  bool answered_ = false, chunked_ = false;
  std::size_t head_bytes_ = 0;
  bool body_is_counted_ = false;  // by the caller
};

}  // namespace feedmill
