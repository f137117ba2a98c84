// Calls of one object one after another, those of others beside them, however many of these block.
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

// As while the stores of many partitions are opened. Before those that block: their threads stay for a while.
TEST(BlockingCallsInABurst, WaitForEachOther) {
  std::atomic<int> at_once = 0, most = 0;
  std::atomic<bool> blocked = false;
  std::vector<std::unique_ptr<BlockingCalls>> all;
  for (int i = 0; i < 400; ++i) all.push_back(std::make_unique<BlockingCalls>());
  for (int round = 0; round < 8; ++round) {
    for (const auto& calls : all) {
      calls->post([&] {
        const auto from = std::chrono::steady_clock::now();
        most = std::max(most.load(), ++at_once);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --at_once;
        if (std::chrono::steady_clock::now() - from > std::chrono::milliseconds(10)) blocked = true;
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  all.clear();
  if (blocked) GTEST_SKIP() << "this machine was too busy to tell";
  EXPECT_LE(most, 32);
}

// As while a server hangs that many partitions have their stores at.
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
  // What else is asked meanwhile lets threads be begun for those that wait.
  for (int i = 0; i < 1000 && beside.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready; ++i)
    post([] {});
  EXPECT_EQ(beside.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  hang.set_value();
}

TEST(BlockingCallsOfOne, BringWhatTheyReturnOrThrowToTheLoop) {
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
