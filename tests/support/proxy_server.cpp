#include "tests/support/proxy_server.hpp"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace feedmill::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;

namespace {

/// The port in "host:port", or 80 for "host". The host is ignored, because every host is this machine.
std::uint16_t port_of(const std::string& authority) {
  const auto colon = authority.rfind(':');
  return colon == std::string::npos ? 80 : static_cast<std::uint16_t>(std::stoi(authority.substr(colon + 1)));
}

asio::awaitable<tcp::socket> connect_to(std::uint16_t port) {
  tcp::socket server(co_await asio::this_coro::executor);
  const tcp::endpoint target(asio::ip::address_v4::loopback(), port);
  co_await server.async_connect(target, asio::use_awaitable);
  co_return server;
}

asio::awaitable<void> write_text(tcp::socket& socket, const std::string& text) {
  co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
}

}  // namespace

ProxyServer::ProxyServer() : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
  port_ = acceptor_.local_endpoint().port();
  asio::co_spawn(context_, accept(), asio::detached);
  thread_ = std::thread([this] { context_.run(); });
}

ProxyServer::~ProxyServer() {
  context_.stop();
  thread_.join();
}

std::vector<std::string> ProxyServer::heads() const {
  const std::lock_guard lock(mutex_);
  return heads_;
}

void ProxyServer::refuse(int status) {
  const std::lock_guard lock(mutex_);
  refuse_ = status;
}

asio::awaitable<void> ProxyServer::accept() {
  for (;;) {
    tcp::socket client = co_await acceptor_.async_accept(asio::use_awaitable);
    // An error in one connection ends only its own session.
    asio::co_spawn(context_, session(std::move(client)), asio::detached);
  }
}

asio::awaitable<void> ProxyServer::session(tcp::socket client) {
  try {
    std::string head;
    co_await asio::async_read_until(client, asio::dynamic_buffer(head, 64U << 10U), "\r\n\r\n", asio::use_awaitable);
    int refused = 0;
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(head);
      refused = refuse_;
    }
    if (refused != 0) {
      const std::string answer = "HTTP/1.1 " + std::to_string(refused) + " No\r\nContent-Length: 0\r\n\r\n";
      co_await write_text(client, answer);
    } else if (head.starts_with("CONNECT ")) {
      co_await tunnel(std::move(client), head);
    } else {
      co_await forward(std::move(client), std::move(head));
    }
  } catch (const boost::system::system_error&) {  // the client or the server is gone
  }
}

/// Forwards one request in absolute form.
asio::awaitable<void> ProxyServer::forward(tcp::socket client, std::string head) {
  const auto authority = head.find("://") + 3;
  const auto path = head.find('/', authority);
  const std::uint16_t port = port_of(head.substr(authority, path - authority));
  tcp::socket server = co_await connect_to(port);
  const auto method_end = head.find(' ') + 1;
  head.erase(method_end, path - method_end);
  head.insert(head.find("\r\n") + 2, "Connection: close\r\n");
  co_await write_text(server, head);
  // Tell the client that its next request needs another connection.
  std::string answer;
  co_await asio::async_read_until(server, asio::dynamic_buffer(answer, 64U << 10U), "\r\n\r\n", asio::use_awaitable);
  answer.insert(answer.find("\r\n") + 2, "Connection: close\r\n");
  co_await write_text(client, answer);
  co_await copy(server, client);
}

asio::awaitable<void> ProxyServer::tunnel(tcp::socket client, const std::string& head) {
  const auto begin = head.find(' ') + 1;
  tcp::socket server = co_await connect_to(port_of(head.substr(begin, head.find(' ', begin) - begin)));
  const std::string answer = "HTTP/1.1 200 Connection established\r\nX-Proxy: here\r\n\r\n";
  co_await write_text(client, answer);
  co_await (copy(client, server) || copy(server, client));
}

asio::awaitable<void> ProxyServer::copy(tcp::socket& from, tcp::socket& to) {
  std::array<char, 16384> block;
  for (;;) {
    const std::size_t got = co_await from.async_read_some(asio::buffer(block), asio::use_awaitable);
    co_await asio::async_write(to, asio::buffer(block.data(), got), asio::use_awaitable);
  }
}

}  // namespace feedmill::test
