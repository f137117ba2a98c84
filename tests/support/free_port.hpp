// A port for a server with an address that must be known before it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <unistd.h>

namespace feedmill::test {

/// Reserves a port for this process; false if a running test has it. The reservation is an abstract socket name, which
/// the system frees when the process ends.
inline bool reserve_port(std::uint16_t port) {
  const std::string name = "feedmill-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  const int holder = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(holder, reinterpret_cast<const sockaddr*>(&address), length) == 0) return true;
  ::close(holder);
  return false;
}

/// A port of 127.0.0.1 without a listener, reserved for this process. It is outside the system's range for outgoing
/// connections (32768 and up), because such a connection could take the port before the server starts, or while it
/// restarts.
inline std::uint16_t free_port() {
  using boost::asio::ip::tcp;
  static std::mt19937 random{std::random_device()()};
  boost::asio::io_context context;
  for (;;) {
    const auto port = std::uniform_int_distribution<std::uint16_t>(10'240, 32'767)(random);
    tcp::acceptor acceptor(context, tcp::v4());
    boost::system::error_code taken;
    acceptor.bind({boost::asio::ip::address_v4::loopback(), port}, taken);
    if (!taken && reserve_port(port)) return port;
  }
}

}  // namespace feedmill::test
