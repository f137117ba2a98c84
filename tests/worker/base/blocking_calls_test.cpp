// Calls of one object run in order; those of different objects run in parallel, however many of them block.
#include "worker/base/blocking_calls.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace feedmill::blocking_calls_test {
namespace {

namespace asio = boost::asio;

TEST(BlockingCallsOfOne, AreMadeOneAfterAnotherInTheirOrder) {
  std::vector<int> made;
  std::atomic<int> at_once = 0, most = 0;
  {
    BlockingCalls calls;
    for (int i = 0; i < 1000; ++i) {
      calls.post([&, i] {
        most = std::max(most.load(), ++at_once);
        made.push_back(i);
        --at_once;
      });
    }
  }
  ASSERT_EQ(made.size(), 1000U);
  EXPECT_TRUE(std::ranges::is_sorted(made));
  EXPECT_EQ(most, 1);
}

// As when the stores of many partitions are opened. Runs before the tests with blocking calls: their threads remain for
// a while.
TEST(BlockingCallsInABurst, WaitForEachOther) {
  std::atomic<std::size_t> at_once = 0, most = 0, made = 0, slow = 0;
  std::vector<std::unique_ptr<BlockingCalls>> all;
  const auto post = [&] {
    all.push_back(std::make_unique<BlockingCalls>());
    all.back()->post([&] {
      const auto from = std::chrono::steady_clock::now();
      most = std::max(most.load(), ++at_once);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // round trip to a nearby server
      --at_once;
      if (std::chrono::steady_clock::now() - from > std::chrono::milliseconds(50)) ++slow;
      ++made;
      made.notify_one();
    });
  };
  for (int i = 0; i < 2'000; ++i) post();  // eight threads need a quarter of a second
  for (std::size_t step = 1; step <= 100; ++step) {
    for (std::size_t now = made; now < 20 * step; now = made) made.wait(now);
    post();  // posting more work may start threads
  }
  all.clear();
  EXPECT_LE(most, slow + std::max<std::size_t>(slow, 32)) << "this machine held up " << slow;
}

// As when a server with the stores of many partitions hangs.
TEST(BlockingCallsOfMany, WaitForNoneThatHangs) {
  std::promise<void> hang;
  const std::shared_future<void> until = hang.get_future().share();
  std::vector<std::unique_ptr<BlockingCalls>> all;
  const auto post = [&all](std::function<void()> job) {
    all.push_back(std::make_unique<BlockingCalls>());
    all.back()->post(std::move(job));
  };
  for (int i = 0; i < 100; ++i) post([until] { until.wait(); });
  std::promise<void> made;
  post([&made] { made.set_value(); });
  std::future<void> beside = made.get_future();
  // Each post may start another thread for the waiting jobs.
  for (int i = 0; i < 1000 && beside.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready; ++i)
    post([] {});
  EXPECT_EQ(beside.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  hang.set_value();
}

TEST(BlockingCallsOfOne, DeliverResultsAndExceptionsToTheLoop) {
  asio::io_context loop{1};
  BlockingCalls calls;
  const auto asked = [&]() -> asio::awaitable<int> {
    const auto one = [] { return std::make_unique<int>(41); };
    const std::unique_ptr<int> got = co_await run_on(calls, one);
    int more = 0;
    const auto nothing = [&more] { more = 1; };
    co_await run_on(calls, nothing);
    co_return *got + more;
  };
  const auto refused = [&]() -> asio::awaitable<int> {
    const auto thrown = []() -> int { throw std::runtime_error("no"); };
    co_return co_await run_on(calls, thrown);
  };
  auto answer = asio::co_spawn(loop, asked(), asio::use_future);
  auto error = asio::co_spawn(loop, refused(), asio::use_future);
  loop.run();
  EXPECT_EQ(answer.get(), 42);
  EXPECT_THROW(error.get(), std::runtime_error);
}

}  // namespace
}  // namespace feedmill::blocking_calls_test
