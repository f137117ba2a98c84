// A small real HTTP/1.1 server on loopback, scripted per path. It sends what the test sets, valid or not, and records
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

/// A request as received.
struct ServedRequest {
  std::string head;            ///< all bytes up to and including the empty line
  std::string method, target;  ///< such as "GET", "/feed.xml?x=1"
  std::string body;            ///< of the length in Content-Length
  std::size_t connection = 0;  ///< number of the connection, in order of acceptance, from 1

  /// First value of the header `name`, in any case; "" if absent.
  std::string header(std::string_view name) const;
};

/// The scripted response to a request.
struct Response {
  enum class End {
    keep_alive,
    close,
    hang,   ///< send nothing more and wait until the client closes
    reset,  ///< reset the connection (RST instead of FIN)
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Content-Length is added unless it is given here
  std::string body{};
  std::string etag{}, last_modified{};  ///< sent as headers; a conditional request that matches gets 304
  std::chrono::milliseconds delay{0};   ///< before the response
  std::size_t hold_until = 0;           ///< respond only after this many requests in all have arrived
  std::string raw{};                    ///< sent instead of status line, headers and body; then the connection closes
  bool silent = false;                  ///< send nothing
  std::string then_forever{};           ///< sent after the response, repeatedly until the client closes
  std::chrono::milliseconds drip{0};    ///< pause after each piece of everything sent
  std::size_t drip_bytes = 1;           ///< size of these pieces
  End end = End::keep_alive;
};

/// A certificate chain and its private key, PEM.
struct Identity {
  std::string certificate, key;
};

/// Serves from its own thread until destroyed. All members may be called from any thread.
class HttpServer {
 public:
  using Handler = std::function<Response(const ServedRequest&)>;

  /// Listens on `address`; port 0 takes a free one. Throws boost::system::system_error if the port is in use.
  explicit HttpServer(std::uint16_t port = 0,
                      boost::asio::ip::address_v4 address = boost::asio::ip::address_v4::loopback());
  /// Serves HTTPS on 127.0.0.1; `configure` may adjust the native context: versions, ALPN.
  explicit HttpServer(const Identity& identity, const std::function<void(SSL_CTX*)>& configure = {},
                      std::uint16_t port = 0);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:PORT" (or https) followed by `path`.
  std::string url(std::string_view path) const;
  /// "http://HOST:PORT" (or https) followed by `path`.
  std::string url(std::string_view host, std::string_view path) const;
  /// "host:port", which is how host gates are named.
  std::string server(std::string_view host = "127.0.0.1") const {
    return std::string(host) + ":" + std::to_string(port());
  }

  /// Sets the response for a path (without its query). Paths without one get 404, or the response of serve_rest().
  void serve(const std::string& path, Response response);
  /// `handler` is called on the server's thread. A template, because clang 14 cannot parse {.body = …} if Handler is an
  /// overload.
  void serve(const std::string& path, std::invocable<const ServedRequest&> auto handler) {
    serve_by(path, std::move(handler));
  }
  /// Sets the handler for all paths without a response of their own.
  void serve_rest(Handler handler);

  std::vector<ServedRequest> requests() const;
  /// Stops recording requests, for servers that run long. From then on only wait_for_requests() and hold_until count
  /// them.
  void forget_requests();
  /// The number of requests for a path.
  std::size_t count(std::string_view path) const;
  std::size_t connections() const;
  /// Number of TLS handshakes that resumed a session.
  std::size_t resumptions() const;
  /// Blocks until this many requests have arrived in all.
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

  mutable std::mutex mutex_;  ///< protects the next eight; the others belong to the server's thread
  mutable std::condition_variable arrived_;
  std::map<std::string, Handler, std::less<>> handlers_;
  Handler rest_;
  std::vector<ServedRequest> requests_;
  std::size_t connections_ = 0, resumptions_ = 0, seen_ = 0;
  bool forget_ = false;

  boost::asio::io_context context_{1};
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer held_;  ///< cancelled when the request count reaches a value in held_for_
  std::set<std::size_t> held_for_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace feedmill::test
