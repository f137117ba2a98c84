// Everything a hostile or broken HTTP server may do, by name, on a real server: for tests that what becomes of each is
// known (SECURITY T8, T10, T11, HTTP §10).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// One thing a server may do when it is asked for "/<name>".
struct Behaviour {
  std::string group;  ///< "malformed", "reset", "endless", "slow", "bomb", "redirect"
  std::string name;
  Response response;
  /// What the fetch must come to: a reason's name; "" for an answer that is taken.
  std::string expected;
};

/// Answers that are not HTTP, or HTTP with two meanings.
std::vector<Behaviour> malformed_answers();

/// The connection is closed or reset at every stage.
std::vector<Behaviour> broken_answers();

/// One part of the answer has no end; a client that reads `body_limit` bytes of body must stop by itself.
std::vector<Behaviour> endless_answers();

/// Answers that take their time; the client's stall time must be 1 s, its wall clock longer.
std::vector<Behaviour> slow_answers();

/// Small bodies that become large, or pretend to; a client takes 16 MiB and 200 : 1.
std::vector<Behaviour> bombs();

/// Redirects to `elsewhere` (a base URL without a final slash) and to blocked addresses.
std::vector<Behaviour> redirects(const std::string& own_url, const std::string& elsewhere);

/// Makes `server` behave so at "/<name>" of each.
void serve(HttpServer& server, const std::vector<Behaviour>& behaviours);

/// Speaks broken HTTP/2 to clients that offer it and correct HTTP/1.1 to all others. Serves from its own thread until
/// destroyed.
class HostileHttp2Server {
 public:
  enum class Habit { reset_stream, go_away, half_a_body, no_frames, oversized_frame, close };

  HostileHttp2Server(const Identity& identity, Habit habit);
  ~HostileHttp2Server();
  HostileHttp2Server(const HostileHttp2Server&) = delete;
  HostileHttp2Server& operator=(const HostileHttp2Server&) = delete;

  std::uint16_t port() const { return port_; }
  /// Connections that chose HTTP/2.
  std::size_t http2_connections() const;

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> session(boost::asio::ip::tcp::socket socket);

  Habit habit_;
  mutable std::mutex mutex_;
  std::size_t http2_connections_ = 0;
  boost::asio::io_context context_{1};
  boost::asio::ssl::context tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace feedmill::test
