// With crashes, and with several workers, every post is created and signalled once.
#include <map>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::crash_test {
namespace {

class Crashes : public testing::Test {
 protected:
  void serve_many(std::size_t feeds, std::size_t hold_until = 0) {
    std::string list;
    for (std::size_t i = 0; i < feeds; ++i) {
      const std::string path = "/feed/" + std::to_string(i);
      world.http.serve(path, {.body = rss({{"b", "Second"}, {"a", "First"}}), .hold_until = hold_until});
      ASSERT_TRUE(Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url(path)}}));
    }
  }

  /// Every feed has both posts, each created and signalled exactly once.
  void expect_each_post_once(std::size_t feeds) {
    std::map<std::string, int> created;
    for (const EventRecord& record : world.signals()) {
      if (record.type != "post_created") continue;
      const auto from = record.json.find("\"feed_url\"");
      const auto to = record.json.find("\"rev\"");
      ++created[record.json.substr(from, to - from)];
    }
    EXPECT_EQ(created.size(), feeds * 2);
    for (const auto& [post, times] : created) EXPECT_EQ(times, 1) << post;
    EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), std::to_string(feeds * 2));
  }

  World world;
};

TEST_F(Crashes, KilledWorkerLosesAndDuplicatesNothing) {
  constexpr std::size_t feeds = 60;
  world.environment["FEEDMILL_SCHEDULE_LEASE"] = "3s";
  world.environment["FEEDMILL_FETCH_WALL"] = "2s";
  world.environment["FEEDMILL_WORKER_LANES"] = "16";
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  serve_many(feeds);
  {
    Program worker({"run"}, world.environment);
    ASSERT_TRUE(eventually([&] { return world.count("post_created") > 10; }));
    worker.signal(SIGKILL);
    EXPECT_EQ(worker.wait().exit, -SIGKILL);
  }
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == feeds; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  expect_each_post_once(feeds);
}

TEST_F(Crashes, TwoWorkersOnOneStoreCreateEachPostOnce) {
  constexpr std::size_t feeds = 100;
  serve_many(feeds);
  Program one({"run"}, world.environment);
  Program two({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("feed_created") == feeds; }));
  // Both workers keep polling the feeds, which have a floor of a second; no post is created again.
  const std::size_t asked = world.http.requests().size();
  world.http.wait_for_requests(asked + feeds);
  for (Program* worker : {&one, &two}) worker->signal(SIGTERM);
  EXPECT_EQ(one.wait().exit, 0);
  EXPECT_EQ(two.wait().exit, 0);
  expect_each_post_once(feeds);
}

TEST_F(Crashes, AWorkerOutlastsItsRedis) {
  constexpr std::size_t feeds = 20;
  RedisServer durable({"--appendonly", "yes", "--appendfsync", "always"});
  Store store(StoreOptions{.url = durable.url()});
  for (std::size_t i = 0; i < feeds; ++i) {
    const std::string path = "/feed/" + std::to_string(i);
    world.http.serve(path, {.body = rss({{"a", "First"}}), .hold_until = feeds});
    ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = world.http.url(path)}}));
  }
  Program worker({"run"}, world.with({{"FEEDMILL_REDIS_URL", durable.url()}, {"FEEDMILL_WORKER_LANES", "20"}}));
  world.http.wait_for_requests(1);
  durable.kill();
  durable.start();
  // ids:Entry may have skipped numbers (RELIABILITY L24).
  const auto entries = [&] { return redis_command(durable, {"EVAL", "return #redis.call('KEYS', 'Entry:*')", "0"}); };
  EXPECT_TRUE(eventually([&] { return entries() == std::to_string(feeds); })) << entries() << '\n' << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Crashes, TheEmbeddedStoreIsTakenUpAgain) {
  world.environment.erase("FEEDMILL_REDIS_URL");
  world.environment["FEEDMILL_STORE_DATA_DIR"] = (world.redis.directory() / "data").string();
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  const auto entries = [&] { return world.run({"entries", url, "--json"}).out; };
  {
    Program worker({"run"}, world.environment);
    EXPECT_TRUE(eventually([&] { return entries().find("First") != std::string::npos; })) << worker.err();
    worker.signal(SIGKILL);
    worker.wait();
  }
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return entries().find("Second") != std::string::npos; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

}  // namespace
}  // namespace feedmill::test::crash_test
