#include "tests/support/http_server.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>

#include "tests/support/await.hpp"

namespace feedmill::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

ServedRequest parse(std::string head, std::size_t connection) {
  ServedRequest request;
  request.connection = connection;
  const std::size_t first = head.find(' ');
  const std::size_t second = head.find(' ', first + 1);
  if (first != head.npos && second != head.npos) {
    request.method = head.substr(0, first);
    request.target = head.substr(first + 1, second - first - 1);
  }
  request.head = std::move(head);
  return request;
}

std::string path_of(std::string_view target) {
  return std::string(target.substr(0, target.find('?')));
}

std::string render(const Response& response, const ServedRequest& request) {
  if (response.silent) return "";
  if (!response.raw.empty()) return response.raw;
  const std::string none_match = request.header("If-None-Match");  // if present, dates are ignored: RFC 9110 §13.2.2
  const bool known = none_match.empty() ? !response.last_modified.empty() &&
                                              request.header("If-Modified-Since") == response.last_modified
                                        : none_match == response.etag;
  const int status = known && response.status == 200 ? 304 : response.status;
  const bool has_body = status >= 200 && status != 204 && status != 304;
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  bool length_given = false;
  for (const auto& [name, value] : response.headers) {
    text.append(name).append(": ").append(value).append("\r\n");
    length_given = length_given || boost::beast::iequals(name, "Content-Length") ||
                   boost::beast::iequals(name, "Transfer-Encoding");
  }
  if (!response.etag.empty()) text += "ETag: " + response.etag + "\r\n";
  if (!response.last_modified.empty()) text += "Last-Modified: " + response.last_modified + "\r\n";
  if (has_body && !length_given && response.then_forever.empty()) {
    text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (response.end == Response::End::close) text += "Connection: close\r\n";
  text += "\r\n";
  if (has_body) text += response.body;
  return text;
}

}  // namespace

std::string ServedRequest::header(std::string_view name) const {
  std::string_view rest = head;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !boost::beast::iequals(line.substr(0, colon), name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == line.npos ? "" : std::string(line.substr(begin));
  }
  return "";
}

HttpServer::HttpServer(std::uint16_t port, asio::ip::address_v4 address)
    : acceptor_(context_, tcp::endpoint(address, port)), held_(context_), port_(acceptor_.local_endpoint().port()) {
  acceptor_.listen(4096);
  asio::co_spawn(context_, accept(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

HttpServer::HttpServer(const Identity& identity, const std::function<void(SSL_CTX*)>& configure, std::uint16_t port)
    : tls_(asio::ssl::context::tls_server),
      acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), port)),
      held_(context_),
      port_(acceptor_.local_endpoint().port()) {
  SSL_CTX_set_security_level(tls_->native_handle(), 0);  // allows weak certificates, which clients must reject
  tls_->use_certificate_chain(asio::buffer(identity.certificate));
  tls_->use_private_key(asio::buffer(identity.key), asio::ssl::context::pem);
  if (configure) configure(tls_->native_handle());
  acceptor_.listen(4096);
  asio::co_spawn(context_, accept(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

HttpServer::~HttpServer() {
  context_.stop();
  thread_.join();
}

std::string HttpServer::url(std::string_view path) const {
  return url("127.0.0.1", path);
}

std::string HttpServer::url(std::string_view host, std::string_view path) const {
  return std::string(tls_ ? "https://" : "http://").append(host) + ":" + std::to_string(port_) + std::string(path);
}

void HttpServer::serve(const std::string& path, Response response) {
  serve(path, [response = std::move(response)](const ServedRequest&) { return response; });
}

void HttpServer::serve_by(const std::string& path, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[path] = std::move(handler);
}

void HttpServer::serve_rest(Handler handler) {
  const std::lock_guard lock(mutex_);
  rest_ = std::move(handler);
}

std::size_t HttpServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void HttpServer::forget_requests() {
  const std::lock_guard lock(mutex_);
  forget_ = true;
}

std::vector<ServedRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t HttpServer::count(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(requests_, [&](const ServedRequest& request) { return path_of(request.target) == path; }));
}

std::size_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::size_t HttpServer::resumptions() const {
  const std::lock_guard lock(mutex_);
  return resumptions_;
}

void HttpServer::wait_for_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return seen_ >= count; });
}

asio::awaitable<void> HttpServer::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(as_result);
    if (error) continue;
    std::size_t connection = 0;
    {
      const std::lock_guard lock(mutex_);
      connection = ++connections_;
    }
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls_) {
      asio::co_spawn(context_, secure_session(std::move(socket), connection), asio::detached);
    } else {
      asio::co_spawn(context_, session(std::move(socket), connection), asio::detached);
    }
  }
}

asio::awaitable<void> HttpServer::secure_session(tcp::socket socket, std::size_t connection) {
  asio::ssl::stream<tcp::socket> stream(std::move(socket), *tls_);
  const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::server, as_result);
  if (error) co_return;
  if (SSL_session_reused(stream.native_handle()) != 0) {
    const std::lock_guard lock(mutex_);
    ++resumptions_;
  }
  co_await session(std::move(stream), connection);
}

template <class Stream>
asio::awaitable<void> HttpServer::session(Stream stream, std::size_t connection) {
  std::string buffer;
  for (;;) {
    auto [error, size] =
        co_await asio::async_read_until(stream, asio::dynamic_buffer(buffer, 1 << 20), "\r\n\r\n", as_result);
    if (error) co_return;
    ServedRequest request = parse(buffer.substr(0, size), connection);
    buffer.erase(0, size);
    const std::size_t length = std::strtoul(request.header("Content-Length").c_str(), nullptr, 10);
    if (buffer.size() < length) {
      auto [cut, more] = co_await asio::async_read(stream, asio::dynamic_buffer(buffer),
                                                   asio::transfer_at_least(length - buffer.size()), as_result);
      if (cut) co_return;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);

    const Response response = answer(request);
    const bool keep = co_await send(stream, response, request);
    if (!keep) co_return;
  }
}

/// Records the request and finds its response.
Response HttpServer::answer(const ServedRequest& request) {
  Handler handler;
  std::size_t seen = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!forget_) requests_.push_back(request);
    seen = ++seen_;
    const auto found = handlers_.find(path_of(request.target));
    handler = found != handlers_.end() ? found->second : rest_;
  }
  arrived_.notify_all();
  if (held_for_.contains(seen)) held_.cancel();
  return handler ? handler(request) : Response{.status = 404, .body = "no such page\n"};
}

/// False if the client is gone.
template <class Stream>
asio::awaitable<bool> HttpServer::write(Stream& stream, const std::string& text, const Response& response) {
  if (response.drip.count() == 0) {
    auto [error, written] = co_await asio::async_write(stream, asio::buffer(text), as_result);
    co_return !error;
  }
  asio::steady_timer timer(context_);
  for (std::size_t at = 0; at < text.size(); at += response.drip_bytes) {
    const std::size_t piece = std::min(response.drip_bytes, text.size() - at);
    auto [error, written] = co_await asio::async_write(stream, asio::buffer(text.data() + at, piece), as_result);
    if (error) co_return false;
    timer.expires_after(response.drip);
    co_await timer.async_wait(as_result);
  }
  co_return true;
}

/// Sends the response; false if the connection must close.
template <class Stream>
asio::awaitable<bool> HttpServer::send(Stream& stream, const Response& response, const ServedRequest& request) {
  while (response.hold_until > 0 && seen() < response.hold_until) {
    held_for_.insert(response.hold_until);
    held_.expires_at(asio::steady_timer::time_point::max());
    co_await held_.async_wait(as_result);
  }
  if (response.delay.count() > 0) {
    asio::steady_timer timer(context_, response.delay);
    co_await timer.async_wait(as_result);
  }
  const std::string text = render(response, request);
  const bool sent = co_await write(stream, text, response);
  if (!sent) co_return false;
  while (!response.then_forever.empty()) {
    const bool there = co_await write(stream, response.then_forever, response);
    if (!there) co_return false;
  }
  if (response.end == Response::End::hang) {
    char byte = 0;
    co_await asio::async_read(stream, asio::buffer(&byte, 1), as_result);
  }
  if (response.end == Response::End::reset) {
    boost::system::error_code ignored;
    stream.lowest_layer().set_option(asio::socket_base::linger(true, 0), ignored);
    stream.lowest_layer().close(ignored);  // here, because Asio's destructor would clear the linger option
  }
  co_return response.end == Response::End::keep_alive&& response.raw.empty();
}

}  // namespace feedmill::test
