#include <atomic>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <system_error>

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "worker/base/blocking_calls.hpp"

namespace feedmill::threads_test {
namespace {

TEST(SeveralThreads, DoAllThatWasPosted) {
  std::atomic<int> done = 0;
  Threads threads(3);
  for (int i = 0; i < 1000; ++i) boost::asio::post(threads.get_executor(), [&] { ++done; });
  threads.join();
  EXPECT_EQ(done, 1000);
}

/// Leaves address space for the stacks of only some of the threads.
class LittleRoom {
 public:
  LittleRoom() {
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr std::size_t room = 64UL << 20U;
    const rlimit little{pages * 4096 + room, before_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleRoom() { setrlimit(RLIMIT_AS, &before_); }
  LittleRoom(const LittleRoom&) = delete;
  LittleRoom& operator=(const LittleRoom&) = delete;

 private:
  rlimit before_{};
};

TEST(SeveralThreads, FailAtOnceWhenTheSystemRefusesOne) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes memory as it likes";
#endif
  std::error_code refused;
  {
    const LittleRoom room;
    try {
      const Threads threads(1000);
    } catch (const std::system_error& error) {
      refused = error.code();
    }
  }
  EXPECT_EQ(refused, std::errc::resource_unavailable_try_again);
}

}  // namespace
}  // namespace feedmill::threads_test
