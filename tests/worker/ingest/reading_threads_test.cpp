#include "worker/ingest/reading_threads.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

namespace feedmill::reading_threads_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::uint64_t mebi = 1 << 20;

/// Reading a document lasts until the test ends it. The first letter of a document's name is its host.
class ReadingThreadsTest : public testing::Test {
 protected:
  struct Document {
    Document(std::string its_name, MemoryBudget& memory) : name(std::move(its_name)), share(memory, 0) {}

    std::string name;
    MemoryBudget::Share share;
    asio::cancellation_signal cancel;
    bool ended = false, read = false, thrown = false;
  };

  ~ReadingThreadsTest() override {
    for (const auto& document : documents) allow(document->name);
    for (const auto& document : documents) await(*document);
  }

  void make(std::size_t count, std::uint64_t bytes = 512 * mebi) {
    memory = std::make_unique<MemoryBudget>(bytes);
    threads = std::make_unique<ReadingThreads>(count, *memory);
  }

  Document& receive(const std::string& name) {
    documents.push_back(std::make_unique<Document>(name, *memory));
    return *documents.back();
  }

  Document& begin(const std::string& name, std::uint64_t bytes = 1, std::chrono::milliseconds longest = 1h) {
    return begin(receive(name), bytes, longest);
  }

  Document& begin(Document& document, std::uint64_t bytes = 1, std::chrono::milliseconds longest = 1h) {
    const auto reading = [this, &document] {
      std::unique_lock lock(mutex);
      begun.push_back(document.name);
      changed.notify_all();
      changed.wait(lock, [&] { return may_end.contains(document.name); });
    };
    asio::co_spawn(loop, threads->read(document.name.substr(0, 1), document.share, bytes, longest, reading),
                   asio::bind_cancellation_slot(document.cancel.slot(), [&](std::exception_ptr thrown, bool read) {
                     document.ended = true;
                     document.thrown = thrown != nullptr;
                     document.read = read;
                   }));
    loop.poll();
    return document;
  }

  void allow(const std::string& name) {
    const std::lock_guard lock(mutex);
    may_end.insert(name);
    changed.notify_all();
  }
  void await(const Document& document) {
    while (!document.ended) loop.run_one();
  }
  void finish(const Document& document) {
    allow(document.name);
    await(document);
  }
  /// Waits until `count` documents have been begun and returns their names.
  std::vector<std::string> await_begun(std::size_t count) {
    loop.poll();  // starts the admitted documents
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun.size() >= count; });
    return begun;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> begun;
  std::set<std::string> may_end;
  asio::io_context loop;
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  std::unique_ptr<MemoryBudget> memory;
  std::vector<std::unique_ptr<Document>> documents;
  std::unique_ptr<ReadingThreads> threads;
};

using Names = std::vector<std::string>;

TEST_F(ReadingThreadsTest, HostsTakeTurnsAtOneThread) {
  make(1);
  const Document &a1 = begin("a1"), &a2 = begin("a2"), &a3 = begin("a3");
  const Document &b1 = begin("b1"), &b2 = begin("b2");
  EXPECT_EQ(threads->progress().busy, 1u);
  EXPECT_EQ(threads->progress().waiting, 4u);
  for (const Document* document : {&a1, &b1, &a2, &b2, &a3}) finish(*document);
  EXPECT_EQ(begun, (Names{"a1", "b1", "a2", "b2", "a3"}));
  EXPECT_EQ(threads->progress().read, 5u);
}

TEST_F(ReadingThreadsTest, OneHostHasHalfOfTheThreads) {
  make(4);
  const Document& a1 = begin("a1");
  for (const char* const name : {"a2", "a3", "a4"}) begin(name);
  EXPECT_EQ(threads->progress().busy, 2u);
  const Document& b1 = begin("b1");
  begin("c1");
  begin("c2");
  EXPECT_EQ(threads->progress().busy, 4u);
  await_begun(4);  // threads that began at once may report in either order
  finish(b1);
  EXPECT_EQ(await_begun(5).back(), "c2");
  finish(a1);
  EXPECT_EQ(await_begun(6).back(), "a3");
}

// SECURITY M3: however many large documents one host has, and however long they take.
TEST_F(ReadingThreadsTest, ASmallDocumentIsReadDespiteALineOfSlowOnes) {
  make(2, 2048 * mebi);
  for (int i = 0; i < 50; ++i) begin("a" + std::to_string(i), mebi);
  const Document& small = begin("b");
  finish(small);
  EXPECT_TRUE(small.read);
  EXPECT_EQ(threads->progress().busy, 1u);
  EXPECT_EQ(threads->progress().waiting, 49u);
}

// SECURITY M2, M3
TEST_F(ReadingThreadsTest, AHostWaitingForMemoryDoesNotDelayOtherHosts) {
  make(4, 20 * mebi);
  const Document& first = begin("a", 10 * mebi);  // one document at a time may always have the memory it needs
  EXPECT_EQ(memory->used(), limits::reading_cost(10 * mebi));
  const Document& large = begin("b", 10 * mebi);
  const Document& small = begin("c");
  EXPECT_EQ(threads->progress().busy, 2u);
  finish(small);
  const Document& impatient = begin("d", 10 * mebi, 1ms);
  await(impatient);
  EXPECT_FALSE(impatient.read);
  EXPECT_FALSE(impatient.thrown);
  EXPECT_EQ(threads->progress().waiting, 1u);
  documents.front()->share.hold(mebi);  // the first has been read and waits to be stored
  loop.poll();                          // the loop learns of the released memory
  EXPECT_EQ(threads->progress().busy, 2u) << "now it is the next that may have what it needs";
  finish(large);
  finish(first);
  EXPECT_TRUE(large.read);
}

// SECURITY M3
TEST_F(ReadingThreadsTest, ADocumentThatMayAlwaysGrowDoesNotWaitForItsHost) {
  make(2, 20 * mebi);
  Document& first = receive("a2");
  EXPECT_TRUE(first.share.cover(30 * mebi));  // while its body arrives, it becomes the exempt share
  const Document& large = begin("a1", 10 * mebi);
  EXPECT_EQ(threads->progress().busy, 0u);
  begin(first, 30 * mebi);
  EXPECT_EQ(threads->progress().busy, 1u) << "though the other came before";
  finish(first);
  first.share.hold(mebi);
  finish(large);
  EXPECT_TRUE(large.read);
}

TEST_F(ReadingThreadsTest, UnwindsWhileItWaitsAndNotLater) {
  make(1);
  Document &reading = begin("a1"), &waiting = begin("a2"), &last = begin("b1");
  reading.cancel.emit(asio::cancellation_type::terminal);
  waiting.cancel.emit(asio::cancellation_type::terminal);
  await(waiting);
  EXPECT_TRUE(waiting.thrown);
  EXPECT_FALSE(reading.ended);
  EXPECT_EQ(threads->progress().waiting, 1u);
  finish(reading);
  finish(last);
  EXPECT_TRUE(last.read);
  EXPECT_EQ(threads->progress().busy, 0u);
}

TEST_F(ReadingThreadsTest, AnExceptionFreesTheThread) {
  make(1);
  MemoryBudget::Share share(*memory, 0);
  bool thrown = false;
  asio::co_spawn(loop, threads->read("a", share, 1, 1s, [] { throw std::runtime_error("a bug"); }),
                 [&](std::exception_ptr error, bool) { thrown = error != nullptr; });
  while (!thrown) loop.run_one();
  EXPECT_EQ(threads->progress().busy, 0u);
  finish(begin("b"));
}

// PERFORMANCE §3: the loop polls timers and sockets between the documents that it reads.
TEST_F(ReadingThreadsTest, TheLoopRunsBetweenDocumentsThatItReads) {
  make(1);
  asio::io_context one{1};
  std::size_t read = 0, ticks = 0;
  constexpr std::size_t all = 50;
  for (std::size_t i = 0; i < all; ++i) {
    asio::co_spawn(
        one,
        [&]() -> asio::awaitable<void> {
          co_await threads->turn_of_loop();
          const auto until = std::chrono::steady_clock::now() + 1ms;
          while (std::chrono::steady_clock::now() < until) continue;
          ++read;
        },
        [](const std::exception_ptr& error) { EXPECT_FALSE(error); });
  }
  asio::steady_timer heartbeat(one);
  std::function<void()> beat = [&] {
    ++ticks;
    if (read == all) return;
    heartbeat.expires_after(0ms);
    heartbeat.async_wait([&](const boost::system::error_code&) { beat(); });
  };
  asio::post(one, beat);
  one.run();
  EXPECT_EQ(read, all);
  EXPECT_GE(ticks, all / 3) << "at most three documents of 1 ms between two looks";
}

}  // namespace
}  // namespace feedmill::reading_threads_test
