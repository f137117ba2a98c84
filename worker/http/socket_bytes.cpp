#include "worker/http/socket_bytes.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/tcp.h>  // glibc's <netinet/tcp.h> (included by Asio) lacks the member and conflicts with this

namespace feedmill {

std::uint64_t received_bytes(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace feedmill
