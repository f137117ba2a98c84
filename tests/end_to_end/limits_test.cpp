// Running out of things: descriptors, memory, patience (SECURITY T10, T36, T37).
#include <set>

#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test {
namespace {

class Limits : public testing::Test {
 protected:
  Limits() { world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1000"; }

  void add(const std::string& path, std::size_t feeds) {
    std::vector<NewFeed> wanted;
    for (std::size_t i = 0; i < feeds; ++i) {
      wanted.push_back(NewFeed{.feed_url = world.http.url(path + std::to_string(i))});
    }
    ASSERT_TRUE(world.store.add_feeds(wanted));
  }
  std::string outcome(const std::string& path) {
    return world.redis_text({"HGET", "state:feed:" + world.http.url(path), "last"});
  }

  World world;
};

// SECURITY T37
TEST_F(Limits, FewDescriptorsMeanFewerLanes) {
  constexpr std::size_t feeds = 400;
  // Nobody is answered before a hundred wait: few lanes are still many.
  world.http.serve_rest([](const ServedRequest&) { return Response{.body = rss({{"a", "A"}}), .hold_until = 100}; });
  add("/feed/", feeds);
  world.environment["FEEDMILL_LANES"] = "5000";
  Program worker({"run", "--once"}, world.environment, "ulimit -n 256");
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("post_created"), feeds);
  EXPECT_EQ(world.http.requests().size(), feeds);
}

std::string large_document(std::size_t bytes) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (std::size_t i = 0; i < 8; ++i) posts.emplace_back("guid " + std::to_string(i), std::string(bytes / 8, 'x'));
  return rss(posts);
}

// SECURITY T36: sixty documents of a mebibyte, for which four times as much is reserved and 72 MiB are there.
TEST_F(Limits, ManyLargeFeedsAreReadAFewAtATime) {
  constexpr std::size_t feeds = 60;
  const std::string document = large_document(1 << 20);
  world.http.serve_rest([&](const ServedRequest&) { return Response{.body = document}; });
  add("/feed/", feeds);
  world.environment["FEEDMILL_LANES"] = "100";
  world.environment["FEEDMILL_MAX_BODY"] = "2MiB";
  world.environment["FEEDMILL_MEMORY_BUDGET"] = "72MiB";
  world.environment["MALLOC_ARENA_MAX"] = "2";  // each thread's arena takes 64 MiB of address space by itself
  // Below a limit of its address space a sanitizer has no room for its shadow. It watches what is resident instead.
  world.environment["ASAN_OPTIONS"] = world.environment["TSAN_OPTIONS"] = "hard_rss_limit_mb=400:quarantine_size_mb=16";
  Program worker({"run", "--once"}, world.environment, is_sanitized ? "" : "ulimit -v 600000");
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), feeds);
}

// SECURITY M1
TEST_F(Limits, ABudgetTooSmallForOneFeedIsRefused) {
  const Finished done = world.run({"run", "--once"}, {{"FEEDMILL_MEMORY_BUDGET", "100MiB"}});
  EXPECT_EQ(done.exit, 78);
  EXPECT_NE(done.err.find("memory.budget"), done.err.npos) << done.err;
  EXPECT_NE(done.err.find("128MiB"), done.err.npos) << done.err;
}

// SECURITY T10
TEST_F(Limits, SlowServersKeepNobodyWaiting) {
  constexpr std::size_t each = 100;
  world.http.serve_rest([](const ServedRequest& asked) {
    if (asked.target.starts_with("/slow")) return Response{.silent = true, .end = Response::End::hang};
    return Response{.body = rss({{"a", "A"}})};
  });
  add("/slow/", each);
  add("/good/", each);
  world.environment["FEEDMILL_LANES"] = "256";
  world.environment["FEEDMILL_FETCH_WALL"] = "3s";
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("feed_created"), each);
  for (std::size_t i = 0; i < each; ++i) {
    EXPECT_EQ(outcome("/slow/" + std::to_string(i)), "0 failed http.timeout") << i;
  }
}

// HTTP D8
TEST_F(Limits, AHangUpIsNoEnd) {
  world.http.serve("/feed/0", {.body = rss({{"a", "A"}})});
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("ready") != std::string::npos; }));
  worker.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return worker.err().find("reload") != std::string::npos; }));
  add("/feed/", 1);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == 1; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

}  // namespace
}  // namespace feedmill::test
