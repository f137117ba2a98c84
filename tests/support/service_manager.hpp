// A service manager's end of $NOTIFY_SOCKET.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "worker/base/system.hpp"

namespace feedmill::test {

class ServiceManager {
 public:
  /// `name`: a path, or an abstract name, which begins with '@'.
  explicit ServiceManager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  /// The next datagram; "" if there is none.
  std::string heard() {
    char text[4096];
    const auto size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
  }

 private:
  UniqueFd fd_;
};

}  // namespace feedmill::test
