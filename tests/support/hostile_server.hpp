// Everything that a hostile or broken HTTP server may do, by name, on a real server, with the outcome that a fetch must
// have (SECURITY T8, T10, T11, HTTP §10).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// One thing that a server may do in response to "/<name>".
struct Behaviour {
  std::string group;  ///< "malformed", "reset", "endless", "slow", "bomb", "redirect"
  std::string name;
  Response response;
  /// Required outcome of the fetch: the name of a failure reason; "" if the response is accepted.
  std::string expected;
};

/// Responses that are not HTTP, or that are ambiguous.
std::vector<Behaviour> malformed_answers();

/// The connection is closed or reset, at every stage of the response.
std::vector<Behaviour> broken_answers();

/// One part of the response has no end; the client must stop by itself after `body_limit` bytes of body.
std::vector<Behaviour> endless_answers();

/// Slow responses. The client's stall timeout must be 1 s, its total timeout longer.
std::vector<Behaviour> slow_answers();

/// Small bodies that expand to large ones, or claim to. The client's limits must be 16 MiB and a ratio of 200 : 1.
std::vector<Behaviour> bombs();

/// Redirects to `elsewhere` (a base URL without a final slash) and to blocked addresses.
std::vector<Behaviour> redirects(const std::string& own_url, const std::string& elsewhere);

/// Makes `server` show each behaviour at "/<name>".
void serve(HttpServer& server, const std::vector<Behaviour>& behaviours);

/// Speaks broken HTTP/2 to clients that offer it, and correct HTTP/1.1 to others. Serves from its own thread until
/// destroyed.
class HostileHttp2Server {
 public:
  enum class Habit { reset_stream, go_away, half_a_body, no_frames, oversized_frame, close };

  HostileHttp2Server(const Identity& identity, Habit habit);
  ~HostileHttp2Server();
  HostileHttp2Server(const HostileHttp2Server&) = delete;
  HostileHttp2Server& operator=(const HostileHttp2Server&) = delete;

  std::uint16_t port() const { return port_; }
  /// Number of connections that negotiated HTTP/2.
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
