#include "worker/base/memory_budget.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/system_executor.hpp>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "worker/config/config.hpp"

namespace feedmill::memory_budget_test {
namespace {

namespace fs = std::filesystem;
using Share = MemoryBudget::Share;

constexpr std::uint64_t mebi = 1 << 20, step = 64 << 10;

TEST(MemoryBudget, ReservesWhatABodyNeedsWhileItComes) {
  MemoryBudget budget(100 * mebi);
  {
    Share share(budget, 0);
    EXPECT_EQ(budget.used(), 0u);  // nothing before a body arrives
    EXPECT_TRUE(share.cover(1));
    EXPECT_EQ(budget.used(), 2 * step);  // at least 64 KiB
    EXPECT_TRUE(share.cover(step));
    EXPECT_EQ(budget.used(), 2 * step);
    EXPECT_TRUE(share.cover(step + 1));
    EXPECT_EQ(budget.used(), 4 * step);
    EXPECT_TRUE(share.cover(1));  // never shrinks by itself
    EXPECT_EQ(budget.used(), 4 * step);
  }
  EXPECT_EQ(budget.used(), 0u);
  Share known(budget, 3 * mebi);
  EXPECT_TRUE(known.cover(1));
  EXPECT_EQ(budget.used(), 6 * mebi);
}

// SECURITY M2: the reserved amount and the reader's limit are the same number.
TEST(MemoryBudget, ReservesWhatReadingCosts) {
  MemoryBudget budget(100 * mebi);
  Share share(budget, 0);
  EXPECT_TRUE(share.cover(mebi));
  EXPECT_TRUE(share.cover_reading(mebi));
  EXPECT_EQ(budget.used(), limits::reading_cost(mebi));
  EXPECT_EQ(share.readable_bytes(), mebi);
  share.hold(3 * mebi);  // the document has been read
  EXPECT_EQ(budget.used(), 3 * mebi);
  EXPECT_EQ(share.readable_bytes(), 0u);
  Share other(budget, 0);
  EXPECT_TRUE(other.cover_reading(1));
  EXPECT_EQ(other.readable_bytes(), step);
  EXPECT_EQ(budget.used(), 3 * mebi + limits::reading_cost(step));
}

TEST(MemoryBudget, ReservesAheadWhileThereIsRoom) {
  MemoryBudget budget(4 * mebi);
  Share share(budget, 0);
  EXPECT_TRUE(share.cover(mebi));
  EXPECT_TRUE(share.cover(mebi + 1));  // reserves half as much again
  EXPECT_EQ(budget.used(), 3 * mebi);
  Share other(budget, 0);
  EXPECT_TRUE(other.cover(mebi / 2 - step));
  EXPECT_TRUE(other.cover(mebi / 2 - step + 1));
  EXPECT_EQ(budget.used(), 4 * mebi);  // all that is left
}

TEST(MemoryBudget, IsTheSumOfItsShares) {
  MemoryBudget budget(100 * mebi);
  Share one(budget, mebi), two(budget, 2 * mebi);
  EXPECT_TRUE(one.cover(1));
  EXPECT_TRUE(two.cover(1));
  EXPECT_EQ(budget.used(), one.held() + two.held());
  EXPECT_FALSE(budget.is_short());
  Share three(budget, 43 * mebi);
  EXPECT_TRUE(three.cover(1));
  EXPECT_TRUE(budget.is_short());  // 92 of 100
}

// SECURITY M3: one document at a time gets the memory it needs whatever the others hold; those stay within the total.
TEST(MemoryBudget, OneMayAlwaysGrow) {
  MemoryBudget budget(10 * mebi);
  Share first(budget, 0), second(budget, 0), third(budget, 0);
  EXPECT_TRUE(first.cover(2 * mebi));
  EXPECT_TRUE(second.cover(2 * mebi));
  EXPECT_TRUE(first.cover(16 * mebi));
  EXPECT_EQ(budget.used(), 36 * mebi);
  EXPECT_FALSE(budget.is_short()) << "what is set aside for one is no matter of the others";
  EXPECT_FALSE(second.cover(6 * mebi));
  EXPECT_TRUE(third.cover(3 * mebi));  // 10 of 10
  EXPECT_FALSE(third.cover(4 * mebi));
  EXPECT_FALSE(third.cover_reading(mebi));
  EXPECT_TRUE(first.cover(20 * mebi));
  EXPECT_TRUE(budget.is_short());
}

TEST(MemoryBudget, ServesWaitingSharesOldestFirst) {
  MemoryBudget budget(10 * mebi);
  auto large = std::make_unique<Share>(budget, 0);
  auto first = std::make_unique<Share>(budget, 0);
  Share second(budget, 0), third(budget, 0), fourth(budget, 0);
  std::string served;
  EXPECT_TRUE(large->cover(50 * mebi));
  EXPECT_TRUE(first->cover(5 * mebi));
  EXPECT_FALSE(second.cover(4 * mebi));
  second.on_granted({boost::asio::system_executor(), [&] { served += '2'; }});
  EXPECT_FALSE(third.cover(3 * mebi));
  third.on_granted({boost::asio::system_executor(), [&] { served += '3'; }});
  EXPECT_FALSE(fourth.cover(mebi));
  fourth.on_granted({boost::asio::system_executor(), [&] { served += '4'; }});
  first.reset();
  EXPECT_EQ(served, "2");  // 2 MiB are left: too few for third, and fourth does not overtake it
  EXPECT_EQ(second.held(), 8 * mebi);
  large.reset();  // now the next share that does not fit is exempt
  EXPECT_EQ(served, "234");
  EXPECT_EQ(budget.used(), 16 * mebi);
}

TEST(MemoryBudget, TellsWhenSomethingIsGivenBack) {
  MemoryBudget budget(10 * mebi);
  int told = 0;
  const auto ask = [&] { budget.on_released({boost::asio::system_executor(), [&] { ++told; }}); };
  ask();
  {
    Share share(budget, 0), untouched(budget, 0);
    EXPECT_TRUE(share.cover_reading(1));
    EXPECT_EQ(told, 0);
    share.hold(step);
    EXPECT_EQ(told, 1);
    share.hold(step / 2);
    EXPECT_EQ(told, 1);  // once per on_released()
    ask();
  }
  EXPECT_EQ(told, 2);
}

/// As in production: each loop has its own thread and is woken by any other that releases memory.
TEST(MemoryBudget, IsSharedByLoopsOnThreadsOfTheirOwn) {
  MemoryBudget budget(10 * mebi);
  constexpr int loops = 8, documents = 2'000;
  std::vector<std::thread> threads;
  std::atomic<int> waited = 0;
  for (int i = 0; i < loops; ++i) {
    threads.emplace_back([&] {
      for (int document = 0; document < documents; ++document) {
        boost::asio::io_context loop{1};
        Share share(budget, 0);
        bool granted = share.cover(3 * mebi / 2);
        if (!granted) {
          ++waited;
          const auto work = boost::asio::make_work_guard(loop);
          share.on_granted({loop.get_executor(), [&] {
                              granted = true;
                              loop.stop();
                            }});
          loop.run();
        }
        EXPECT_TRUE(granted);
        EXPECT_EQ(share.held(), 3 * mebi);
        std::this_thread::yield();  // as if receiving the body
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(waited, 0);
  EXPECT_EQ(budget.used(), 0U);
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
  EXPECT_EQ(automatic_memory_budget(0, root_), 512 * mebi);
  write("proc/self/cgroup", "0::/system.slice/feedmill.service");
  write("sys/fs/cgroup/system.slice/feedmill.service/memory.max", "max");
  EXPECT_EQ(automatic_memory_budget(0, root_), 512 * mebi);
  write("sys/fs/cgroup/system.slice/memory.max", "1000000000");
  EXPECT_EQ(automatic_memory_budget(0, root_), 600'000'000u);
  write("sys/fs/cgroup/system.slice/feedmill.service/memory.max", "500000000");
  EXPECT_EQ(automatic_memory_budget(0, root_), 300'000'000u);
  write("sys/fs/cgroup/memory.max", "100");
  EXPECT_EQ(automatic_memory_budget(0, root_), 60u);
  write("sys/fs/cgroup/memory.max", std::to_string(512 * mebi));
  write("sys/fs/cgroup/system.slice/feedmill.service/memory.max", "max");
  EXPECT_EQ(automatic_memory_budget(324 * mebi, root_), 324 * mebi) << "what the largest document needs";
  EXPECT_EQ(automatic_memory_budget(400 * mebi, root_), 384 * mebi) << "no more than three quarters";
}

// RELIABILITY R11: documents and data together stay below the limit, with room for a rewrite of the server's file.
TEST_F(AutomaticBudget, LeavesRoomForAPrivateServer) {
  const std::uint64_t least = 324 * mebi;
  EXPECT_EQ(plan_memory({}, least, true, root_).documents, 512 * mebi);
  EXPECT_EQ(plan_memory({}, least, true, root_).private_server, 0u);
  write("proc/self/cgroup", "0::/feedmill");
  for (const std::uint64_t limit : {512 * mebi, 768 * mebi, 1024 * mebi, 16384 * mebi}) {
    write("sys/fs/cgroup/feedmill/memory.max", std::to_string(limit));
    const MemoryPlan plan = plan_memory({}, least, true, root_);
    EXPECT_EQ(plan.documents, std::max(limit / 3, least)) << limit;
    EXPECT_GE(plan.private_server, limit / 5) << limit;
    EXPECT_LE(plan.documents + plan.private_server, limit / 8 * 7) << limit;
    EXPECT_EQ(plan_memory({}, least, false, root_).documents, automatic_memory_budget(least, root_));
    EXPECT_EQ(plan_memory({}, least, false, root_).private_server, 0u);
  }
  EXPECT_EQ(plan_memory(400 * mebi, least, true, root_).documents, 400 * mebi);
  EXPECT_EQ(plan_memory(1 << 30, least, false, root_).documents, 1u << 30);
}

// A configured budget that leaves the server too little is refused; the server never runs without a limit.
TEST_F(AutomaticBudget, RefusesToStarveAPrivateServer) {
  const std::uint64_t max_body = 16 * mebi, limit = 1024 * mebi;
  EXPECT_EQ(objection_to_memory(2 * limit, max_body, true, root_), "") << "there is no limit";
  EXPECT_EQ(objection_to_memory({}, 100 * mebi, true, root_), "") << "as much as that takes";
  write("proc/self/cgroup", "0::/feedmill");
  write("sys/fs/cgroup/feedmill/memory.max", std::to_string(limit));
  for (const std::uint64_t budget : {limit - 2 * mebi, limit, 2 * limit}) {
    EXPECT_GT(plan_memory(budget, 324 * mebi, true, root_).private_server, 0u) << budget;
    EXPECT_EQ(objection_to_memory(budget, max_body, false, root_), "") << "nobody shares it";
  }
  const std::string little = objection_to_memory(limit - 20 * mebi, max_body, true, root_);
  EXPECT_EQ(little, "leaves the private server 11MiB of this machine's limit: lower memory.budget, or raise the limit");
  EXPECT_NE(objection_to_memory(2 * limit, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory(limit - 40 * mebi, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory({}, max_body, true, root_), "");
  EXPECT_EQ(objection_to_memory(300 * mebi, max_body, true, root_),
            "at least 16 × fetch.max_body + 68MiB, which is 324MiB: allow more memory or lower fetch.max_body");
  write("sys/fs/cgroup/feedmill/memory.max", std::to_string(400 * mebi));
  EXPECT_EQ(objection_to_memory({}, max_body, true, root_).find("at least 16 × fetch.max_body + 68MiB"), 0u);
}

// SECURITY M1: with the shipped limits the worker starts, reads a body at the default cap, and has memory to spare.
TEST_F(AutomaticBudget, FitsTheShippedLimits) {
  struct Shipped {
    const char* file;
    const char* pattern;
    bool private_server;
  };
  const std::uint64_t max_body = load_config({}).value().fetch.max_body;
  write("proc/self/cgroup", "0::/feedmill");
  for (const Shipped& shipped :
       {Shipped{"systemd/feedmill.service", "MemoryMax=([0-9]+[MG])", false},
        Shipped{"systemd/feedmill.service", "MemoryMax=([0-9]+[MG])", true},
        Shipped{"kubernetes/overlays/standalone/deployment.yaml", "limits: \\{memory: ([0-9]+[MG])i\\}", false},
        Shipped{"kubernetes/overlays/embedded/statefulset.yaml", "limits: \\{memory: ([0-9]+[MG])i\\}", true}}) {
    std::ifstream file(fs::path(FEEDMILL_SOURCE_DIR) / "deploy" / shipped.file);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, std::regex(shipped.pattern))) << shipped.file;
    const std::uint64_t limit = std::stoull(found[1]) * mebi * (found[1].str().back() == 'G' ? 1024 : 1);
    write("sys/fs/cgroup/feedmill/memory.max", std::to_string(limit));
    EXPECT_EQ(objection_to_memory({}, max_body, shipped.private_server, root_), "") << shipped.file;
    const MemoryPlan plan = plan_memory({}, MemoryBudget::least(max_body), shipped.private_server, root_);
    EXPECT_LE(plan.documents + plan.private_server, limit / 4 * 3) << shipped.file;
    // There is also room for the default number of lanes with ordinary documents.
    MemoryBudget budget(plan.documents - limits::reading_cost(max_body));
    Share largest(budget, 0);
    EXPECT_TRUE(largest.cover(max_body));
    EXPECT_TRUE(largest.cover_reading(max_body)) << shipped.file;
    std::list<Share> lanes;
    for (int i = 0; i < 256; ++i) EXPECT_TRUE(lanes.emplace_back(budget, 0).cover(61 << 10)) << shipped.file;
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(lanes.emplace_back(budget, 0).cover_reading(61 << 10)) << shipped.file;
    EXPECT_LE(budget.used(), plan.documents) << shipped.file;
  }
}

TEST_F(AutomaticBudget, KnowsTheFirstVersionOfCgroups) {
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(automatic_memory_budget(0, root_), 512 * mebi);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "200000000");
  EXPECT_EQ(automatic_memory_budget(0, root_), 120'000'000u);
}

}  // namespace
}  // namespace feedmill::memory_budget_test
