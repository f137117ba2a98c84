#include <chrono>
#include <future>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/ingest/reading_threads.hpp"

namespace feedmill::liveness_test {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;
namespace asio = boost::asio;

class LivenessTest : public testing::Test {
 protected:
  MemoryBudget memory{512U << 20U};
  ReadingThreads threads{1, memory};
  asio::io_context loop;
  Liveness liveness{threads};
};

// RELIABILITY H1
TEST_F(LivenessTest, NoticesALoopThatDoesNotTurn) {
  EXPECT_TRUE(liveness.alive()) << "from the start";
  const auto now = Liveness::Clock::now();
  EXPECT_FALSE(liveness.checks(now + 11s)[0].passed);
  asio::cancellation_signal stop;
  asio::co_spawn(loop, liveness.tick(), asio::bind_cancellation_slot(stop.slot(), asio::detached));
  loop.poll();
  EXPECT_TRUE(liveness.checks(now + 9s)[0].passed);
  stop.emit(asio::cancellation_type::terminal);
  loop.run();
}

// RELIABILITY H1: busy threads are never a reason for a restart; a document that is never finished is.
TEST_F(LivenessTest, TellsBusyThreadsFromStuckOnes) {
  std::promise<void> go, begun;
  MemoryBudget::Share share(memory, 0), waiting(memory, 0);
  const auto hang = [wait = go.get_future().share(), &begun] {
    begun.set_value();
    wait.wait();
  };
  asio::co_spawn(loop, threads.read("a.example", share, 2U << 20U, 1s, hang), asio::detached);
  asio::co_spawn(loop, threads.read("b.example", waiting, 1, 1s, [] {}), asio::detached);
  loop.poll();
  begun.get_future().wait();
  const auto now = Liveness::Clock::now();
  const auto threads_after = [&](std::chrono::seconds time) { return liveness.checks(now + time)[1]; };
  EXPECT_TRUE(threads_after(37s).passed);
  EXPECT_THAT(threads_after(37s).detail,
              StartsWith("busy: 1 of 1 threads reading, the longest for 37 s; 1 documents waiting"));
  EXPECT_FALSE(threads_after(39s).passed);
  EXPECT_THAT(threads_after(39s).detail, StartsWith("stuck: a thread has been reading one document for 39 s"));
  go.set_value();
  loop.restart();
  loop.run();
  EXPECT_TRUE(threads_after(39s).passed);
  EXPECT_EQ(threads_after(39s).detail, "");
}

}  // namespace
}  // namespace feedmill::liveness_test
