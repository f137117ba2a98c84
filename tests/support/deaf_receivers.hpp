// Hub receivers that confirm their subscription and never read a delivery.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace feedmill::test {

/// Listens on one port, at every address of the loopback network.
class DeafReceivers {
 public:
  DeafReceivers() : acceptor_(io_, {boost::asio::ip::address_v4::any(), 0}), thread_([this] { serve(); }) {}
  ~DeafReceivers() {
    boost::asio::io_context io;
    ended_ = true;
    boost::asio::ip::tcp::socket last(io);
    last.connect({boost::asio::ip::address_v4::loopback(), port()});
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::size_t posts() const { return posts_; }

 private:
  void serve() {
    for (;;) {
      auto socket = acceptor_.accept();
      if (ended_) return;
      std::string head;
      boost::system::error_code error;
      boost::asio::read_until(socket, boost::asio::dynamic_buffer(head, 8'192), "\r\n\r\n", error);
      if (error) continue;
      if (head.starts_with("POST")) {
        ++posts_;
        deaf_.push_back(std::move(socket));
        continue;
      }
      const auto from = head.find("hub.challenge=") + 14;
      const std::string challenge = head.substr(from, head.find_first_of("& ", from) - from);
      const std::string answer =
          "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(challenge.size()) + "\r\n\r\n" +
          challenge;
      boost::asio::write(socket, boost::asio::buffer(answer), error);
    }
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<boost::asio::ip::tcp::socket> deaf_;
  std::atomic<std::size_t> posts_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace feedmill::test
