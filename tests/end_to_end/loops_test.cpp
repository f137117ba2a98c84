// A process that fetches on several event loops (worker.threads): its log, metrics, limits and settings cover all
// loops.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace feedmill::test::loops_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t loops = 3, lanes = 4;

class ManyLoops : public testing::Test {
 protected:
  ManyLoops() {
    world.environment["FEEDMILL_WORKER_THREADS"] = std::to_string(loops);
    world.environment["FEEDMILL_WORKER_LANES"] = std::to_string(lanes);
    world.environment["FEEDMILL_HOST_CONCURRENCY"] = "64";
    world.environment["FEEDMILL_HOST_SPACING"] = "0ms";
    configure("");
  }
  void configure(const std::string& text) { std::ofstream(home / "feedmill.toml") << text; }
  std::vector<std::string> run() const {
    return {"run", "--config", (home / "feedmill.toml").string(), "--listen", "127.0.0.1:0"};
  }
  /// Registers `feeds` feeds that are due, each answering with `response`.
  std::vector<std::string> add(std::size_t feeds, const Response& response) {
    std::vector<NewFeed> fresh;
    for (std::size_t i = 0; i < feeds; ++i) {
      const std::string path = "/" + std::to_string(served++);
      world.http.serve(path, response);
      fresh.push_back({.feed_url = world.http.url(path)});
    }
    EXPECT_TRUE(Feeds(world.store).add(fresh));
    std::vector<std::string> urls;
    for (const NewFeed& feed : fresh) urls.push_back(feed.feed_url);
    return urls;
  }
  /// The workers that hold claims on `urls`.
  std::set<std::string> claimants(const std::vector<std::string>& urls) {
    std::set<std::string> workers;
    const auto records = Feeds(world.store).records(urls);
    for (const auto& record : *records) {
      if (!record->claim.empty()) workers.insert(record->claim.substr(0, 32));
    }
    return workers;
  }

  World world;
  TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  std::size_t served = 0;
};

TEST_F(ManyLoops, AreWorkersThatShareTheFeeds) {
  const std::vector<std::string> urls =
      add(loops * lanes + 5, {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  Program worker(run(), world.environment);
  const std::string address = listening_at(worker);
  ASSERT_NE(address, "") << worker.err();
  world.http.wait_for_requests(loops * lanes);  // all lanes of all loops are busy
  EXPECT_EQ(claimants(urls).size(), loops);
  EXPECT_TRUE(eventually([&] { return Fleet(world.store).figures()->workers == loops; }));
  EXPECT_TRUE(eventually([&] {
    return get(address, "/metrics").find("feedmill_lanes{state=\"busy\"} 12\n") != std::string::npos;
  })) << get(address, "/metrics");
  EXPECT_NE(get(address, "/metrics").find("feedmill_lanes{state=\"free\"} 0\n"), std::string::npos);
  const std::string answer = get(address, "/status.json");
  const json::object status = json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).as_object();
  EXPECT_EQ(status.at("worker").at("lanes").at("total").to_number<std::size_t>(), loops * lanes);
  EXPECT_TRUE(get(address, "/livez").starts_with("HTTP/1.1 200"));
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  EXPECT_NE(worker.err().find("for 12 refreshes in flight"), std::string::npos) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_TRUE(claimants(urls).empty()) << "given back by all";
  EXPECT_EQ(Fleet(world.store).figures()->workers, 0U);
}

TEST_F(ManyLoops, FinishFeedsInFlightWhenStopped) {
  constexpr std::size_t feeds = loops * lanes;
  add(feeds, {.body = rss({{"a", "First"}}), .hold_until = feeds + 1});
  world.http.serve("/go", {.body = "go", .end = Response::End::close});
  Program worker(run(), world.environment);
  const std::string address = listening_at(worker);
  world.http.wait_for_requests(feeds);
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  const std::string url = world.http.url("/go");
  get(url.substr(7, url.find('/', 7) - 7), "/go");
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.count("post_created"), feeds);
}

TEST_F(ManyLoops, MakeOnePassTogether) {
  constexpr std::size_t at_once = loops * lanes;
  const std::vector<std::string> urls = add(at_once, {.body = rss({{"a", "First"}}), .hold_until = at_once});
  add(50, {.body = rss({{"a", "First"}})});
  const Finished once = world.run({"run", "--once"});
  EXPECT_EQ(once.exit, 0) << once.err;
  EXPECT_EQ(world.count("post_created"), at_once + 50);
  EXPECT_EQ(world.http.requests().size(), at_once + 50);
  EXPECT_TRUE(claimants(urls).empty());
}

TEST_F(ManyLoops, LogAnOutageOnceAndContinueAfterIt) {
  Program worker(run(), world.environment);
  const std::string address = listening_at(worker);
  ASSERT_NE(address, "") << worker.err();
  world.redis.kill();
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=redis_down") != std::string::npos; }));
  const auto errors = [&] {
    const std::string metrics = get(address, "/metrics"), name = "feedmill_redis_errors_total{kind=\"connection\"} ";
    const std::size_t at = metrics.find('\n' + name);
    return at == std::string::npos ? 0 : std::atoi(metrics.c_str() + at + 1 + name.size());
  };
  ASSERT_TRUE(eventually([&] { return errors() >= 5 * static_cast<int>(loops); }));  // every loop has retried
  world.redis.start();
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=redis_up") != std::string::npos; }));
  const std::vector<std::string> urls = add(loops * lanes, {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  EXPECT_TRUE(eventually([&] { return claimants(urls).size() == loops; })) << worker.err();
  const std::string log = worker.err();
  EXPECT_EQ(count_of(log, "event=redis_down"), 1U) << log;
  EXPECT_EQ(count_of(log, "event=redis_up"), 1U) << log;
}

TEST_F(ManyLoops, ObeyAChangedConfiguration) {
  std::vector<std::pair<std::string, std::string>> posts;
  for (int i = 0; i < 30; ++i) posts.emplace_back("guid" + std::to_string(i), "Post");
  Program worker(run(), world.environment);
  ASSERT_NE(listening_at(worker), "") << worker.err();
  configure("[retention]\nentries = 5\nhard_cap = 5\n");
  worker.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return worker.err().find("changed=\"retention.entries") != std::string::npos; }))
      << worker.err();
  for (const std::string& url : add(loops * lanes, {.body = rss(posts), .hold_until = loops * lanes})) {
    EXPECT_TRUE(eventually([&] {
      return world.redis_text({"ZCARD", url + ":sort"}) == "5";
    })) << url
        << " has " << world.redis_text({"ZCARD", url + ":sort"}) << "\n"
        << worker.err();
  }
}

TEST_F(ManyLoops, AreLimitedInNumber) {
  const Finished refused = world.run({"run", "--threads", "17"});
  EXPECT_EQ(refused.exit, 78);
  EXPECT_NE(refused.err.find("worker.threads"), std::string::npos) << refused.err;
}

TEST_F(ManyLoops, ReportAMissingDescriptorLimit) {
  Program worker({"run", "--threads", "4"}, world.environment, "ulimit -n 40");
  const Finished refused = worker.wait();
  EXPECT_EQ(refused.exit, 78) << refused.err;
  EXPECT_NE(refused.err.find("raise its limit (LimitNOFILE=, ulimit -Hn)"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace feedmill::test::loops_test
