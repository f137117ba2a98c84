// A small real HTTP proxy on loopback: forwards http, tunnels CONNECT, and connects every host name to 127.0.0.1. It
// records all requests.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace feedmill::test {

/// Serves from its own thread until destroyed. All members may be called from any thread.
class ProxyServer {
 public:
  ProxyServer();
  ~ProxyServer();
  ProxyServer(const ProxyServer&) = delete;
  ProxyServer& operator=(const ProxyServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:PORT"
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// Heads of the requests to the proxy itself; requests inside tunnels are not included.
  std::vector<std::string> heads() const;
  /// Answers all requests with this status from now on; 0: forwards them again.
  void refuse(int status);

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> session(boost::asio::ip::tcp::socket client);
  boost::asio::awaitable<void> forward(boost::asio::ip::tcp::socket client, std::string head);
  boost::asio::awaitable<void> tunnel(boost::asio::ip::tcp::socket client, const std::string& head);
  static boost::asio::awaitable<void> copy(boost::asio::ip::tcp::socket& from, boost::asio::ip::tcp::socket& to);

  mutable std::mutex mutex_;  ///< protects the next two
  std::vector<std::string> heads_;
  int refuse_ = 0;

  boost::asio::io_context context_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace feedmill::test
