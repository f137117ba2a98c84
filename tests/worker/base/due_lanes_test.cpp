#include "worker/base/due_lanes.hpp"

#include <algorithm>
#include <stdexcept>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace feedmill::due_lanes_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

/// Lanes over a queue of numbers instead of a store.
class DueLanesTest : public testing::Test {
 protected:
  using Lanes = DueLanes<int>;

  /// Runs until all coroutines have ended.
  void run() {
    asio::co_spawn(
        loop,
        [this]() -> asio::awaitable<void> {
          const auto take_some = [this](std::size_t room) { return take(room); };
          const auto serve_one = [this](const int& item) { return serve(item); };
          co_await lanes.run(take_some, serve_one);
        },
        asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr& error) {
          ended = true;
          thrown = error;
        }));
    loop.run();
  }

  asio::awaitable<Lanes::Taken> take(std::size_t room) {
    most_asked = std::max(most_asked, room);
    Lanes::Taken taken;
    while (!stored.empty() && taken.items.size() < room) {
      taken.items.push_back(stored.front());
      stored.pop_front();
    }
    if (taken.items.empty()) {
      taken.rest = 1h;
      if (when_idle) when_idle();
    }
    co_return taken;
  }

  asio::awaitable<void> serve(int item) {
    most_at_once = std::max(most_at_once, ++at_once_now);
    asio::steady_timer time(loop, 1ms);
    co_await time.async_wait(asio::use_awaitable);
    if (item < 0) throw std::runtime_error("a bug");
    served.push_back(item);
    --at_once_now;
    if (served.size() == stop_after) lanes.stop();
  }

  asio::io_context loop{1};
  asio::cancellation_signal cancel;
  WakeEvent due{loop.get_executor()};
  Lanes lanes{loop.get_executor(), 3, due};
  std::deque<int> stored;
  std::vector<int> served;
  std::size_t stop_after = 0, at_once_now = 0, most_at_once = 0, most_asked = 0;
  std::function<void()> when_idle;
  bool ended = false;
  std::exception_ptr thrown;
};

TEST_F(DueLanesTest, ServeAllDueItemsWithinTheNumberOfLanes) {
  for (int i = 0; i < 20; ++i) stored.push_back(i);
  stop_after = 20;
  run();
  std::ranges::sort(served);
  EXPECT_EQ(served.size(), 20U);
  EXPECT_EQ(served.back(), 19);
  EXPECT_EQ(most_at_once, 3U);
  EXPECT_EQ(most_asked, 3U);
}

TEST_F(DueLanesTest, LookAgainWhenNotifiedWhileTheyRest) {
  int looks = 0;
  when_idle = [&] {
    if (++looks > 1) return;
    stored = {1, 2};
    due.notify();
  };
  stop_after = 2;
  run();
  EXPECT_EQ(served.size(), 2U) << "without waiting for the hour";
}

TEST_F(DueLanesTest, LeaveTheRestToOthersWhenStopped) {
  for (int i = 0; i < 20; ++i) stored.push_back(i);
  stop_after = 2;
  run();
  EXPECT_TRUE(ended);
  EXPECT_EQ(served.size() + lanes.left().size() + stored.size(), 20U);
  EXPECT_GE(stored.size(), 12U) << "they took no more than they could serve";
}

TEST_F(DueLanesTest, EndQuietlyWhenCancelled) {
  when_idle = [&] { asio::post(loop, [&] { cancel.emit(asio::cancellation_type::terminal); }); };
  run();
  EXPECT_TRUE(ended);
  EXPECT_EQ(thrown, nullptr);
}

}  // namespace
}  // namespace feedmill::due_lanes_test
