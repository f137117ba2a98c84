#include "worker/egress/network_limit.hpp"

#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/await.hpp"

namespace feedmill::network_limit_test {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

TEST(NetworkLimit, CountsByNetwork) {
  NetworkLimit limit(2);
  EXPECT_TRUE(limit.enter("a"));
  EXPECT_TRUE(limit.enter("a"));
  EXPECT_FALSE(limit.enter("a"));
  EXPECT_TRUE(limit.enter("b"));
  limit.leave("a");
  EXPECT_TRUE(limit.enter("a"));
  EXPECT_FALSE(limit.enter("a"));
}

TEST(NetworkLimit, WakesTheLongestWaiter) {
  asio::io_context context;
  NetworkLimit limit(1);
  EXPECT_TRUE(limit.enter("a"));
  std::string woken;
  for (const char name : {'1', '2'}) {
    asio::co_spawn(context, limit.wait("a", steady_clock::now() + std::chrono::hours(1)),
                   [&, name](std::exception_ptr, bool room) {
                     EXPECT_TRUE(room);
                     woken += name;
                   });
  }
  context.poll();
  EXPECT_EQ(woken, "");
  limit.leave("a");
  context.poll();
  EXPECT_EQ(woken, "1");
  EXPECT_TRUE(limit.enter("a"));
  limit.leave("a");
  context.restart();
  context.poll();
  EXPECT_EQ(woken, "12");
}

TEST(NetworkLimit, WaitsNoLongerThanItMay) {
  asio::io_context context;
  NetworkLimit limit(1);
  EXPECT_TRUE(test::await(context, limit.wait("a", steady_clock::now())));  // a slot is free
  EXPECT_TRUE(limit.enter("a"));
  EXPECT_FALSE(test::await(context, limit.wait("a", steady_clock::now() + std::chrono::milliseconds(1))));
  limit.leave("a");
  EXPECT_TRUE(limit.enter("a"));
}

TEST(NetworkLimit, UnwindsWhenCancelled) {
  asio::io_context context;
  NetworkLimit limit(1);
  EXPECT_TRUE(limit.enter("a"));
  asio::cancellation_signal cancel;
  bool unwound = false;
  asio::co_spawn(context, limit.wait("a", steady_clock::now() + std::chrono::hours(1)),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](std::exception_ptr thrown, bool) { unwound = thrown != nullptr; }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  while (!unwound) context.run_one();
  limit.leave("a");
}

}  // namespace
}  // namespace feedmill::network_limit_test
