// A port for who must be known before it is started.
#pragma once

#include <cstdint>
#include <random>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace feedmill::test {

/// One of 127.0.0.1 that nobody listens at now. It is none of those that the system gives to outgoing connections (from
/// 32768 on): one of these could take it before who it is for, or while they are started again.
inline std::uint16_t free_port() {
  using boost::asio::ip::tcp;
  static std::mt19937 random{std::random_device()()};
  boost::asio::io_context context;
  for (;;) {
    const auto port = std::uniform_int_distribution<std::uint16_t>(10'240, 32'767)(random);
    tcp::acceptor acceptor(context, tcp::v4());
    boost::system::error_code taken;
    acceptor.bind({boost::asio::ip::address_v4::loopback(), port}, taken);
    if (!taken) return port;
  }
}

}  // namespace feedmill::test
