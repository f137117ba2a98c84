// A port for who must be known before it is started.
#pragma once

#include <cstdint>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace feedmill::test {

/// One of 127.0.0.1 that nobody listens at now.
inline std::uint16_t free_port() {
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

}  // namespace feedmill::test
