// What our HTTP listeners share: how connections are taken in and whom they make room for, and how requests on them are
// answered one after the other.
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
  bool busy = false;   ///< somebody else listens there, maybe for a moment only
};

[[noreturn]] void throw_exception_from_error(const ListenError& error, const boost::source_location&);

/// Accepts connections. All on one thread; neither copied nor moved.
class Listener {
 public:
  /// Whom it works for.
  struct Host {
    /// The answer to a request whose head has been read.
    std::function<boost::asio::awaitable<HttpReply>(Visit&)> answer;
    std::function<void()> refused{};  ///< a request was turned away for its head
    /// answer() threw; that connection is closed, and all else goes on.
    std::function<void(const char* what)> bug;
  };
  struct Places {
    std::size_t connections = 32;  ///< at once
    std::size_t per_network = 16;  ///< of these of one client_network()
  };

  /// Binds and listens. `how` says in errors how to choose another address: "--listen (admin.listen)".
  static boost::system::result<std::unique_ptr<Listener>, ListenError> open(
      const boost::asio::any_io_executor& executor, const boost::asio::ip::tcp::endpoint& endpoint,
      std::string_view how);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Where it listens: the port that was found when 0 was asked for.
  boost::asio::ip::tcp::endpoint endpoint() const { return endpoint_; }

  /// Serves until cancelled or closed. Where a client has all places of its network, or where there are no more at all,
  /// the connection that has been waited for longest is dropped for the new one: of that network, or of the one with
  /// the most. Where none is waited for, a new one of a network with all its places is closed; where there are no more
  /// at all, it waits in the kernel's queue. When it returns no connection is left.
  boost::asio::awaitable<void> serve(Places places, RequestLimits limits, Host host);

  /// Accepts nobody any more; serve() ends with the conversations under way.
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
  std::list<Connection*> connections_;  // on the frames of lanes
};

}  // namespace feedmill
