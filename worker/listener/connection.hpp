// One client's connection to a listener of ours and the requests on it, each read within bounds (SECURITY W1).
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

/// An answer, with a body of its own or one that it shares.
struct HttpReply : boost::beast::http::response<boost::beast::http::string_body> {
  using Base = boost::beast::http::response<boost::beast::http::string_body>;
  using Base::Base;

  std::shared_ptr<const std::string> shared_body;  ///< sent in place of body(); null: there is none
};

/// An answer that nobody keeps and no browser guesses about (SECURITY O4).
HttpReply http_reply(boost::beast::http::status status, std::string_view type, std::string body);
/// One that says its status and nothing else.
HttpReply http_reply(boost::beast::http::status status);
/// 503: the client is to come again, `after` so many seconds.
HttpReply try_later(std::string_view after);
/// 405: there are these `methods`, as "GET, HEAD".
HttpReply not_allowed(std::string_view methods);

/// What a client may send, and how long it may take.
struct RequestLimits {
  HeadLimits head;
  std::uint64_t body_bytes = 8U << 10U;
  std::chrono::milliseconds pause{5'000};         ///< between bytes, and before the first
  std::chrono::milliseconds head_time{5'000};     ///< from the end of the answer before to the end of the head
  std::chrono::milliseconds body_time{5'000};     ///< from there to the end of the body
  std::chrono::milliseconds answer_time{10'000};  ///< for the answer to be taken
  std::chrono::milliseconds part_time{2'000};     ///< for it to arrive where it closes the connection
  std::size_t requests = 1'000;                   ///< on one connection
  MemoryBudget* memory = nullptr;                 ///< counts heads, bodies and answers; null: they are not counted
};

/// Whom an address belongs to, as far as caps go: an IPv6 one to its /64, an IPv4 one in IPv6 to itself.
boost::asio::ip::address client_network(const boost::asio::ip::address& address);

/// Lives on its listener's thread.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  /// `limits` outlives it.
  Connection(boost::asio::ip::tcp::socket socket, const boost::asio::ip::address& client, const RequestLimits& limits);

  /// IPv4 in IPv6 as IPv4.
  const boost::asio::ip::address& client() const { return client_; }
  const boost::asio::ip::address& network() const { return network_; }

  /// Since when the client is waited for: for a request, its body, or for an answer to be taken. Nothing: we work.
  std::optional<Clock::time_point> waiting_since() const { return waiting_since_; }
  /// Closes it: what is awaited of the client comes back as an error, and the conversation ends.
  void drop();
  bool dropped() const { return dropped_; }

  /// What follows the last answer is read and forgotten for a while: closed with something of it unread, the connection
  /// would be reset, and our answer lost with it.
  boost::asio::awaitable<void> part();

 private:
  friend class Visit;

  boost::asio::awaitable<bool> receive(Clock::time_point until);
  /// Counts the read buffer and `more` bytes.
  void hold(std::size_t more);

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;  // as large as a head may be: nothing else is held in it
  const boost::asio::ip::address client_, network_;
  const RequestLimits& limits_;
  std::optional<Clock::time_point> waiting_since_ = Clock::now();
  bool dropped_ = false;
  std::optional<MemoryBudget::Share> memory_;
};

/// One request. It lives as long as it is answered.
class Visit {
 public:
  using Header = boost::beast::http::request_header<>;

  explicit Visit(Connection& connection);
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  /// Nothing: head() is there, or the client is gone(). Else what the request is refused with.
  boost::asio::awaitable<std::optional<boost::beast::http::status>> read_head();

  const Header& head() const { return head_; }
  const boost::asio::ip::address& client() const { return connection_.client(); }

  /// Nothing: body() is whole, or the client is gone(). Else the answer. `may_hold` is asked for each part, and first
  /// of all, whether that many bytes may be held, and counts them; if not, the client must retry. `most`:
  /// bytes, in place of RequestLimits::body_bytes. Trailers are not kept.
  boost::asio::awaitable<std::optional<HttpReply>> read_body(std::function<bool(std::uint64_t)> may_hold = {},
                                                             std::optional<std::uint64_t> most = {});
  std::string& body() { return parser_.get().body(); }

  /// The connection is the caller's from now on, who answers on it: nothing of ours reads, bounds or closes it any
  /// more, and its place is free once answer() has returned, with a reply that nobody reads. For an answer that is the
  /// last on its connection: what the client has sent behind the head is forgotten.
  boost::asio::ip::tcp::socket take_over();

  /// Nobody waits for an answer any more: the client has left, or was taken over.
  bool gone() const { return gone_; }
  /// The next request may follow: this one has been read to its end, and its client wants to stay.
  bool may_stay() const { return parser_.is_header_done() && parser_.is_done() && parser_.keep_alive(); }
  /// False when the client does not take it.
  boost::asio::awaitable<bool> send(HttpReply reply, bool stay);

  /// An answer in parts in place of send(), behind which the connection is closed: its head, then any number of parts,
  /// then the end; without an end the client sees that it is not whole. False when the client does not take it: then
  /// nothing more may be sent. No part is empty.
  boost::asio::awaitable<bool> begin(HttpReply head);
  boost::asio::awaitable<bool> write(std::string_view part);
  boost::asio::awaitable<bool> end();
  /// An answer in parts was begun.
  bool answered() const { return answered_; }

 private:
  boost::asio::awaitable<bool> send_shared(HttpReply reply);
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
