// What our HTTP listeners share: a fixed number of lanes, each with one connection at a time, and how answers look.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/result.hpp>

namespace feedmill {

/// Why a listener could not be opened; the caller exits 78.
struct ListenError {
  std::string detail;  ///< names the address and what to change
};

[[noreturn]] void throw_exception_from_error(const ListenError& error, const boost::source_location&);

using HttpReply = boost::beast::http::response<boost::beast::http::string_body>;

/// An answer that nobody keeps and no browser guesses about (SECURITY O4).
HttpReply http_reply(boost::beast::http::status status, std::string_view type, std::string body);
/// One that says its status and nothing else.
HttpReply http_reply(boost::beast::http::status status);

/// Accepts connections. All on one thread; neither copied nor moved.
class Listener {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  /// Talks with one client until either side is done. Owns its socket; must not throw but for cancellation.
  using Conversation = std::function<boost::asio::awaitable<void>(Socket)>;

  /// Binds and listens. `how` says in errors how to choose another address: "--listen (admin.listen)".
  static boost::system::result<std::unique_ptr<Listener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const boost::asio::ip::tcp::endpoint& endpoint,
      std::string_view how);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Where it listens: the port that was found when 0 was asked for.
  boost::asio::ip::tcp::endpoint endpoint() const { return endpoint_; }

  /// Serves until cancelled or closed, `connections` at once and `per_address` of one address; more of all wait in the
  /// kernel's queue, more of one are closed. When it returns no connection is left.
  boost::asio::awaitable<void> serve(std::size_t connections, std::size_t per_address, Conversation conversation);

  /// Accepts nobody any more; serve() ends with the conversations under way.
  void close();

 private:
  explicit Listener(boost::asio::ip::tcp::acceptor acceptor)
      : acceptor_(std::move(acceptor)), endpoint_(acceptor_.local_endpoint()) {}

  boost::asio::awaitable<void> lane(std::size_t per_address, const Conversation& conversation);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint endpoint_;
  std::map<boost::asio::ip::address, std::size_t> clients_;  // connections of each
};

}  // namespace feedmill
