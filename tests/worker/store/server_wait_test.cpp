// Waits on the loop for a socket that another component reads.
#include <chrono>
#include <functional>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "worker/store/store_calls.hpp"

namespace feedmill::server_wait_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class ServerWaitOnTheLoop : public testing::Test {
 public:
  ~ServerWaitOnTheLoop() override {
    for (const int end : ends) ::close(end);
  }

 protected:
  ServerWaitOnTheLoop() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  /// Returns the duration of the wait; the function runs once the wait has begun.
  std::chrono::steady_clock::duration wait(
      int socket, std::chrono::milliseconds longest, const std::function<void()>& meanwhile = [] {}) {
    asio::io_context loop{1};
    const auto from = std::chrono::steady_clock::now();
    auto waited = asio::co_spawn(loop, until_answered({socket, from + longest}), asio::use_future);
    asio::post(loop, meanwhile);
    loop.run();
    waited.get();
    return std::chrono::steady_clock::now() - from;
  }
  int ends[2] = {-1, -1};
};

TEST_F(ServerWaitOnTheLoop, EndsOnceSomethingHasCome) {
  EXPECT_LT(wait(ends[0], 1h, [&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); }), 1h);
  EXPECT_EQ(::fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0) << "who reads it blocks";
  EXPECT_LT(wait(ends[0], 1h), 1h) << "it can be read still";
}

TEST_F(ServerWaitOnTheLoop, EndsWithTheConnection) {
  ::shutdown(ends[0], SHUT_RDWR);
  EXPECT_LT(wait(ends[0], 1h), 1h);
}

TEST_F(ServerWaitOnTheLoop, LastsNoLongerThanTheServerHas) {
  EXPECT_GE(wait(ends[0], 20ms), 20ms);
  wait(-1, 1h);
}

}  // namespace
}  // namespace feedmill::server_wait_test
