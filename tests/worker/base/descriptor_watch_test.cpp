// Library descriptors on our loop: watched events, and no others, are reported while they hold.
#include "worker/base/descriptor_watch.hpp"

#include <array>
#include <string>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace feedmill::descriptor_watch_test {
namespace {

class DescriptorWatchesTest : public testing::Test {
 protected:
  DescriptorWatchesTest() { open(); }
  ~DescriptorWatchesTest() override { close(); }

  void open() { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0); }
  void close() const {
    for (const int end : ends) ::close(end);
  }
  void send() const { ASSERT_EQ(::write(ends[1], "x", 1), 1); }

  /// Runs the loop until `most` events were reported and returns them: r, w, or b for both.
  std::string reports(std::size_t most) {
    told.clear();
    left = most;
    context.restart();
    context.run();
    return told;
  }

  std::array<int, 2> ends{};  ///< the first is watched
  std::string told;
  std::size_t left = 0;
  boost::asio::io_context context;
  DescriptorWatches watches{context.get_executor(),
                            [this](int descriptor, Ready ready) {
                              EXPECT_EQ(descriptor, ends[0]);
                              told += ready.readable && ready.writable ? 'b' : ready.readable ? 'r' : 'w';
                              if (--left == 0) watches.watch(descriptor, false, false);
                            },
                            [](const std::exception_ptr&) { ADD_FAILURE() << "lost"; }};
};

TEST_F(DescriptorWatchesTest, ReportsWhileTheEventHolds) {
  send();
  watches.watch(ends[0], true, false);
  EXPECT_EQ(reports(3), "rrr");
  watches.watch(ends[0], true, true);
  EXPECT_EQ(reports(2), "bb");
  watches.watch(ends[0], false, true);
  EXPECT_EQ(reports(1), "w");
}

TEST_F(DescriptorWatchesTest, ReportsDataThatArrivedWhileUnwatched) {
  watches.watch(ends[0], false, true);
  EXPECT_EQ(reports(1), "w");
  send();
  EXPECT_EQ(reports(1), "");
  watches.watch(ends[0], true, false);
  EXPECT_EQ(reports(1), "r");
}

TEST_F(DescriptorWatchesTest, ReportsBothWhenTheOtherEndIsGone) {
  watches.watch(ends[0], true, true);
  ::close(ends[1]);
  EXPECT_EQ(reports(1), "b");
  ends[1] = ::dup(ends[0]);
}

TEST_F(DescriptorWatchesTest, TakesANumberAgainForAnotherDescriptor) {
  const int number = ends[0];
  for (int round = 0; round < 3; ++round) {
    watches.watch(ends[0], true, true);
    EXPECT_EQ(reports(1), "w");
    watches.forget(ends[0]);
    close();
    open();
    ASSERT_EQ(ends[0], number);
  }
  watches.watch(ends[0], true, false);
  watches.forget(ends[0]);  // but stays open
  send();
  watches.watch(ends[0], true, false);
  EXPECT_EQ(reports(2), "rr");
}

TEST_F(DescriptorWatchesTest, IgnoresDescriptorsThatWereNeverWatched) {
  watches.forget(ends[0]);
  watches.watch(ends[0], false, false);
  EXPECT_EQ(reports(1), "");
}

}  // namespace
}  // namespace feedmill::descriptor_watch_test
