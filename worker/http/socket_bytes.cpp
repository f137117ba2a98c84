#include "worker/http/socket_bytes.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/tcp.h>  // glibc's <netinet/tcp.h>, which Asio includes, has not the member; both at once do not go

namespace feedmill {

std::uint64_t received_bytes(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace feedmill
