// Base of our HTTP listeners: accepts connections, makes room for new ones and answers their requests in order.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>

#include "worker/listener/connection.hpp"

namespace feedmill {

/// Why a listener could not be opened; the caller exits 78.
struct ListenError {
  std::string detail;  ///< names the address and what to change
  bool busy = false;   ///< the address is in use, maybe only for a moment
};

[[noreturn]] void throw_exception_from_error(const ListenError& error, const boost::source_location&);

/// Accepts connections and serves their requests. All members on one thread; neither copied nor moved.
class Listener {
 public:
  /// Callbacks of the listener.
  struct Host {
    /// Answers a request after its head was read.
    std::function<boost::asio::awaitable<HttpReply>(Visit&)> answer;
    std::function<void()> refused{};  ///< a request was rejected for its head
    /// answer() threw; only that connection is closed
    std::function<void(const char* what)> bug;
  };
  struct Places {
    std::size_t connections = 32;  ///< at once
    std::size_t per_network = 16;  ///< of these, per client_network()
  };

  /// Binds and listens. `how`: names the option in errors, such as "--listen (admin.listen)".
  static boost::system::result<std::unique_ptr<Listener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const boost::asio::ip::tcp::endpoint& endpoint,
      std::string_view how);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// The bound endpoint, with the actual port if 0 was requested.
  boost::asio::ip::tcp::endpoint endpoint() const { return endpoint_; }

  /// Serves until cancelled or closed; returns after all connections are closed. If a client network or the listener
  /// has all its slots in use, a new connection replaces the one that has waited for its client longest: within that
  /// network, or in the network with most connections. If none waits, a network over its limit is refused; otherwise
  /// the new connection waits until one is free.
  boost::asio::awaitable<void> serve(Places places, RequestLimits limits, Host host);

  /// Stops accepting; serve() returns after the running conversations.
  void close();

 private:
  struct Service;

  explicit Listener(boost::asio::ip::tcp::acceptor acceptor)
      : acceptor_(std::move(acceptor)), endpoint_(acceptor_.local_endpoint()) {}

  boost::asio::awaitable<void> lane(const Service& service);
  boost::asio::awaitable<void> receive(boost::asio::ip::tcp::socket socket, const Service& service);
  boost::asio::awaitable<void> converse(Connection& connection, const Service& service);
  enum class Room { made, none, none_for_its_network };
  Room make_room(const Connection& newcomer, const Places& places);

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint endpoint_;
  std::list<Connection*> connections_;  // owned by the lanes
};

}  // namespace feedmill
