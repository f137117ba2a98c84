// A small real HTTP/1.1 server on loopback, scripted per path. It writes what the test sets, legal or not, and keeps
// all requests.
#pragma once

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace feedmill::test {

struct ServedRequest {
  std::string head;            ///< all bytes up to and including the empty line
  std::string method, target;  ///< "GET", "/feed.xml?x=1"
  std::string body;            ///< by Content-Length
  std::size_t connection = 0;  ///< 1 for the first accepted, and so on

  /// First value of that name, any case; "" when absent.
  std::string header(std::string_view name) const;
};

struct Response {
  enum class End {
    keep_alive,
    close,
    hang,   ///< send nothing further, wait until the client closes
    reset,  ///< RST instead of FIN
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Content-Length is added unless one is given
  std::string body{};
  std::string etag{}, last_modified{};  ///< sent; a request that names either is answered by 304
  std::chrono::milliseconds delay{0};   ///< before the answer
  std::size_t hold_until = 0;           ///< answer only once the server has seen so many requests in all
  std::string raw{};                    ///< sent instead of status, headers and body; then the connection is closed
  bool silent = false;                  ///< send nothing at all
  std::string then_forever{};           ///< after that, again and again until the client goes
  std::chrono::milliseconds drip{0};    ///< between any two pieces of all that,
  std::size_t drip_bytes = 1;           ///< which are of so many bytes
  End end = End::keep_alive;
};

/// A certificate and its key, PEM.
struct Identity {
  std::string certificate, key;
};

/// Serves from its own thread until destroyed. All members may be called from any thread.
class HttpServer {
 public:
  using Handler = std::function<Response(const ServedRequest&)>;

  /// Listens on 127.0.0.1, or on `address`; 0 takes a free port. Throws boost::system::system_error when the port is
  /// taken.
  explicit HttpServer(std::uint16_t port = 0,
                      boost::asio::ip::address_v4 address = boost::asio::ip::address_v4::loopback());
  /// HTTPS, likewise; `configure` may set more on the native context: versions, ALPN.
  explicit HttpServer(const Identity& identity, const std::function<void(SSL_CTX*)>& configure = {},
                      std::uint16_t port = 0);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:PORT" (or https) and the path.
  std::string url(std::string_view path) const;
  /// The same by name.
  std::string url(std::string_view host, std::string_view path) const;
  /// "host:port", as gates are named.
  std::string server(std::string_view host = "127.0.0.1") const {
    return std::string(host) + ":" + std::to_string(port());
  }

  /// Sets the answer for that path (without query). All other paths answer 404.
  void serve(const std::string& path, Response response);
  /// Called on the server's thread. A template, for clang 14 does not get past {.body = …} when Handler is a choice.
  void serve(const std::string& path, std::invocable<const ServedRequest&> auto handler) {
    serve_by(path, std::move(handler));
  }
  /// For all paths that have no answer of their own.
  void serve_rest(Handler handler);

  std::vector<ServedRequest> requests() const;
  /// Stops keeping requests, for servers that run for long. Only wait_for_requests() and hold_until still count.
  /// count.
  void forget_requests();
  /// The number of requests for a path.
  std::size_t count(std::string_view path) const;
  std::size_t connections() const;
  /// How many TLS handshakes resumed a session.
  std::size_t resumptions() const;
  /// Blocks until so many requests have come in all.
  void wait_for_requests(std::size_t count) const;

 private:
  void serve_by(const std::string& path, Handler handler);
  std::size_t seen() const;
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> secure_session(boost::asio::ip::tcp::socket socket, std::size_t connection);
  template <class Stream>
  boost::asio::awaitable<void> session(Stream stream, std::size_t connection);
  template <class Stream>
  boost::asio::awaitable<bool> send(Stream& stream, const Response& response, const ServedRequest& request);
  Response answer(const ServedRequest& request);
  template <class Stream>
  boost::asio::awaitable<bool> write(Stream& stream, const std::string& text, const Response& response);

  mutable std::mutex mutex_;  ///< over the next eight; the rest is the server thread's
  mutable std::condition_variable arrived_;
  std::map<std::string, Handler, std::less<>> handlers_;
  Handler rest_;
  std::vector<ServedRequest> requests_;
  std::size_t connections_ = 0, resumptions_ = 0, seen_ = 0;
  bool forget_ = false;

  boost::asio::io_context context_{1};
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer held_;  ///< cancelled when a count is reached that someone holds for
  std::set<std::size_t> held_for_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace feedmill::test
