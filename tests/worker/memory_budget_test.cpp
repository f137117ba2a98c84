#include "worker/memory_budget.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/await.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using Share = MemoryBudget::Share;

constexpr std::uint64_t mebi = 1 << 20;

TEST(MemoryBudget, ReservesFourTimesTheDocument) {
  MemoryBudget budget(100 * mebi);
  {
    Share share(budget, 0);
    EXPECT_EQ(budget.used(), 0u);  // nothing before a body comes
    EXPECT_TRUE(share.cover(1));
    EXPECT_EQ(budget.used(), mebi / 4);  // at least 64 KiB
    EXPECT_TRUE(share.cover(64 << 10));
    EXPECT_EQ(budget.used(), mebi / 4);
    EXPECT_TRUE(share.cover((64 << 10) + 1));
    EXPECT_EQ(budget.used(), mebi / 2);
    EXPECT_EQ(share.document_bytes(), 128u << 10);
    EXPECT_TRUE(share.cover(1));  // never shrinks
    EXPECT_EQ(budget.used(), mebi / 2);
  }
  EXPECT_EQ(budget.used(), 0u);
  Share known(budget, 3 * mebi);
  EXPECT_TRUE(known.cover(1));
  EXPECT_EQ(budget.used(), 12 * mebi);
}

TEST(MemoryBudget, ReservesAheadWhileThereIsRoom) {
  MemoryBudget budget(7 * mebi);
  Share share(budget, 0);
  EXPECT_TRUE(share.cover(mebi));
  EXPECT_TRUE(share.cover(mebi + 1));  // half as much again
  EXPECT_EQ(share.document_bytes(), mebi * 3 / 2);
  Share other(budget, 0);
  EXPECT_TRUE(other.cover(mebi / 8));
  EXPECT_TRUE(other.cover(mebi / 8 + 1));
  EXPECT_EQ(other.document_bytes(), mebi / 8 + (64 << 10));  // as much as is there
  EXPECT_EQ(budget.used(), 6 * mebi + mebi * 3 / 4);
}

TEST(MemoryBudget, IsTheSumOfItsShares) {
  MemoryBudget budget(100 * mebi);
  Share one(budget, mebi), two(budget, 2 * mebi);
  EXPECT_TRUE(one.cover(1));
  EXPECT_TRUE(two.cover(1));
  EXPECT_EQ(budget.used(), 4 * (one.document_bytes() + two.document_bytes()));
  EXPECT_FALSE(budget.is_short());
  Share three(budget, 20 * mebi);
  EXPECT_TRUE(three.cover(1));
  EXPECT_TRUE(budget.is_short());  // 92 of 100
}

TEST(MemoryBudget, RefusesTheYoungerAndNeverTheOldest) {
  MemoryBudget budget(10 * mebi);
  Share old(budget, 0), young(budget, 0);
  EXPECT_TRUE(old.cover(mebi));
  EXPECT_TRUE(young.cover(mebi));
  EXPECT_FALSE(young.cover(2 * mebi));
  EXPECT_TRUE(old.cover(16 * mebi));
  EXPECT_EQ(budget.used(), 68 * mebi);
  EXPECT_FALSE(young.cover(2 * mebi));
}

TEST(MemoryBudget, ServesThoseWhoWaitInOrderOfAge) {
  MemoryBudget budget(10 * mebi);
  auto first = std::make_unique<Share>(budget, 0);
  Share second(budget, 0), third(budget, 0);
  std::string served;
  EXPECT_TRUE(first->cover(2 * mebi));
  EXPECT_FALSE(second.cover(2 * mebi));
  second.on_granted([&] { served += '2'; });
  EXPECT_FALSE(third.cover(mebi));
  third.on_granted([&] { served += '3'; });
  first.reset();
  EXPECT_EQ(served, "2");  // then there are 2 MiB left
  EXPECT_EQ(second.document_bytes(), 2 * mebi);
}

TEST(MemoryBudget, TheNextOldestMayGrowWhenTheOldestHasGone) {
  MemoryBudget budget(mebi);
  auto first = std::make_unique<Share>(budget, 0);
  auto second = std::make_unique<Share>(budget, 0);
  EXPECT_TRUE(first->cover(mebi));
  EXPECT_FALSE(second->cover(50 * mebi));
  bool served = false;
  second->on_granted([&] { served = true; });
  first.reset();
  EXPECT_TRUE(served);
  EXPECT_EQ(budget.used(), 200 * mebi);
  second.reset();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, WaitsForWhatComesAndNoLonger) {
  asio::io_context context;
  MemoryBudget budget(10 * mebi);
  auto first = std::make_unique<Share>(budget, 0);
  EXPECT_TRUE(first->cover(2 * mebi));
  Share late(budget, 0), patient(budget, 0);
  EXPECT_FALSE(test::await(context, late.cover_within(2 * mebi, std::chrono::milliseconds(1))));
  EXPECT_EQ(budget.used(), 8 * mebi);

  std::optional<bool> granted;
  asio::co_spawn(context, patient.cover_within(2 * mebi, std::chrono::hours(1)),
                 [&](std::exception_ptr, bool done) { granted = done; });
  context.restart();
  context.poll();
  EXPECT_FALSE(granted);
  first.reset();
  while (!granted) context.run_one();
  EXPECT_TRUE(*granted);
}

TEST(MemoryBudget, UnwindsWhenCancelled) {
  asio::io_context context;
  MemoryBudget budget(10 * mebi);
  Share first(budget, 0), second(budget, 0);
  EXPECT_TRUE(first.cover(2 * mebi));
  asio::cancellation_signal cancel;
  bool unwound = false;
  asio::co_spawn(context, second.cover_within(2 * mebi, std::chrono::hours(1)),
                 asio::bind_cancellation_slot(cancel.slot(),
                                              [&](std::exception_ptr thrown, bool) { unwound = thrown != nullptr; }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  while (!unwound) context.run_one();
}

class AutomaticBudget : public testing::Test {
 protected:
  AutomaticBudget() : root_(mkdtemp(path_.data())) {}
  ~AutomaticBudget() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }

  std::string path_ = (fs::temp_directory_path() / "feedmill-root-XXXXXX").string();
  fs::path root_;
};

TEST_F(AutomaticBudget, IsAPartOfTheSmallestLimit) {
  EXPECT_EQ(automatic_memory_budget(root_), 512 * mebi);
  write("proc/self/cgroup", "0::/system.slice/feedmill.service");
  write("sys/fs/cgroup/system.slice/feedmill.service/memory.max", "max");
  EXPECT_EQ(automatic_memory_budget(root_), 512 * mebi);
  write("sys/fs/cgroup/system.slice/memory.max", "1000000000");
  EXPECT_EQ(automatic_memory_budget(root_), 600'000'000u);
  write("sys/fs/cgroup/system.slice/feedmill.service/memory.max", "500000000");
  EXPECT_EQ(automatic_memory_budget(root_), 300'000'000u);
  write("sys/fs/cgroup/memory.max", "100");
  EXPECT_EQ(automatic_memory_budget(root_), 60u);
}

// RELIABILITY R11: documents and data together stay below the limit, with room for a rewrite of the server's file.
TEST_F(AutomaticBudget, LeavesRoomForAPrivateServer) {
  const std::uint64_t least = 128 * mebi;
  EXPECT_EQ(plan_memory({}, least, true, root_).documents, 512 * mebi);
  EXPECT_EQ(plan_memory({}, least, true, root_).private_server, 0u);
  write("proc/self/cgroup", "0::/feedmill");
  for (const std::uint64_t limit : {214 * mebi, 256 * mebi, 512 * mebi, 1024 * mebi, 16384 * mebi}) {
    write("sys/fs/cgroup/feedmill/memory.max", std::to_string(limit));
    const MemoryPlan plan = plan_memory({}, least, true, root_);
    EXPECT_EQ(plan.documents, std::max(limit / 4, least)) << limit;
    EXPECT_GE(plan.private_server, limit / 5) << limit;
    EXPECT_LE(plan.documents + plan.private_server, limit / 5 * 4 + 64 * mebi) << limit;
    EXPECT_LT(plan.documents + plan.private_server, limit) << limit;
    EXPECT_EQ(plan_memory({}, least, false, root_).documents, automatic_memory_budget(root_));
    EXPECT_EQ(plan_memory({}, least, false, root_).private_server, 0u);
  }
  EXPECT_EQ(plan_memory(200 * mebi, least, true, root_).documents, 200 * mebi);
  EXPECT_EQ(plan_memory(1 << 30, least, false, root_).documents, 1u << 30);
}

// What is configured may leave the server little, and then that is refused; it never runs without a limit.
TEST_F(AutomaticBudget, RefusesToStarveAPrivateServer) {
  const std::uint64_t max_body = 16 * mebi, limit = 1024 * mebi;
  EXPECT_EQ(objection_to_memory(2 * limit, max_body, true, root_), "") << "there is no limit";
  write("proc/self/cgroup", "0::/feedmill");
  write("sys/fs/cgroup/feedmill/memory.max", std::to_string(limit));
  for (const std::uint64_t budget : {limit - 2 * mebi, limit, 2 * limit}) {
    EXPECT_GT(plan_memory(budget, 128 * mebi, true, root_).private_server, 0u) << budget;
    EXPECT_EQ(objection_to_memory(budget, max_body, false, root_), "") << "nobody shares it";
  }
  const std::string little = objection_to_memory(limit - 20 * mebi, max_body, true, root_);
  EXPECT_EQ(little, "leaves the private server 11MiB of this machine's limit: lower memory.budget, or raise the limit");
  EXPECT_NE(objection_to_memory(2 * limit, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory(limit - 40 * mebi, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory({}, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory(100 * mebi, max_body, true, root_),
            "at least 4 × fetch.max_body + 64MiB, which is 128MiB: give more memory or lower fetch.max_body");
  write("sys/fs/cgroup/feedmill/memory.max", std::to_string(200 * mebi));
  EXPECT_EQ(objection_to_memory({}, max_body, true, root_).find("at least 4 × fetch.max_body + 64MiB"), 0u);
}

TEST_F(AutomaticBudget, KnowsTheFirstVersionOfCgroups) {
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(automatic_memory_budget(root_), 512 * mebi);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "200000000");
  EXPECT_EQ(automatic_memory_budget(root_), 120'000'000u);
}

}  // namespace
}  // namespace feedmill
