#include "worker/liveness.hpp"

#include <chrono>
#include <future>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

namespace feedmill {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

TEST(Liveness, IsThereFromTheStart) {
  asio::thread_pool pool{1};
  const Liveness liveness(pool);
  EXPECT_TRUE(liveness.alive());
}

// RELIABILITY H1: ten seconds are the rule itself, so that this takes them.
TEST(Liveness, NoticesAPoolThatDoesNotGetOn) {
  asio::thread_pool pool{1};
  asio::io_context loop;
  Liveness liveness(pool);
  std::promise<void> go;
  asio::post(pool, [wait = go.get_future().share()] { wait.wait(); });
  asio::cancellation_signal stop;
  asio::co_spawn(loop, liveness.tick(), asio::bind_cancellation_slot(stop.slot(), asio::detached));
  while (liveness.alive()) loop.run_one();
  ASSERT_EQ(liveness.checks().size(), 2u);
  EXPECT_TRUE(liveness.checks()[0].passed);
  EXPECT_FALSE(liveness.checks()[1].passed);
  EXPECT_FALSE(liveness.checks()[1].detail.empty());
  go.set_value();
  while (!liveness.alive()) loop.run_one();
  stop.emit(asio::cancellation_type::terminal);
  loop.run();
  pool.join();
}

}  // namespace
}  // namespace feedmill
