// Stopping (RELIABILITY D1) and the admin listener.
#include <chrono>
#include <fstream>
#include <sys/resource.h>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::stop_test {
namespace {

namespace asio = boost::asio;

class Stopping : public testing::Test {
 protected:
  World world;
};

TEST_F(Stopping, AnIdleWorkerGoesAtOnce) {
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(Stopping, LogsItsDrainAndItsEnd) {
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_NE(worker.err().find("nothing is in flight"), std::string::npos) << worker.err();
  EXPECT_NE(worker.err().find("event=stopped"), std::string::npos) << worker.err();
}

TEST_F(Stopping, FeedsInFlightAreFinished) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}}), .hold_until = 2});
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}});
  Program worker({"run"}, world.environment);
  world.http.wait_for_requests(1);
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  asio::io_context loop;
  asio::ip::tcp::socket second(loop);  // a second request releases the feed's response
  second.connect({asio::ip::make_address("127.0.0.1"), world.http.port()});
  asio::write(second, asio::buffer(std::string("GET /other HTTP/1.1\r\nHost: x\r\n\r\n")));
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(world.count("post_created"), 1U);
}

TEST_F(Stopping, ASecondSignalGivesTheClaimsBack) {
  world.http.serve("/feed.xml", {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  const std::string url = world.http.url("/feed.xml");
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}});
  Program worker({"run"}, world.environment);
  world.http.wait_for_requests(1);
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  worker.signal(SIGINT);
  EXPECT_EQ(worker.wait().exit, 0);
  const auto record = Feeds(world.store).records(std::vector{url});
  EXPECT_EQ((*record)[0]->claim, "");
  EXPECT_LE(*(*record)[0]->due, *world.store.now()) << "due as before";
}

TEST_F(Stopping, ASecondSignalDoesNotWaitForAHungRedis) {
  world.environment["FEEDMILL_REDIS_TIMEOUT"] = "10min";  // longer than this test may take
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  ::kill(world.redis.pid(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // until the next claim waits for a reply
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 75);
  ::kill(world.redis.pid(), SIGCONT);
}

TEST_F(Stopping, AnInterruptedRefreshGivesItsFeedBack) {
  world.http.serve("/feed.xml", {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  const std::string url = world.http.url("/feed.xml");
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}});
  Program verb({"refresh", url}, world.environment);
  world.http.wait_for_requests(1);
  verb.signal(SIGINT);
  EXPECT_EQ(verb.wait().exit, 130);
  EXPECT_EQ((*Feeds(world.store).records(std::vector{url}))[0]->claim, "");
}

TEST_F(Stopping, ADrainHasAnEnd) {
  world.environment["FEEDMILL_DRAIN_TIMEOUT"] = "100ms";
  world.http.serve("/feed.xml", {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  const std::string url = world.http.url("/feed.xml");
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = url}});
  Program worker({"run"}, world.environment);
  world.http.wait_for_requests(1);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ((*Feeds(world.store).records(std::vector{url}))[0]->claim, "");
}

TEST_F(Stopping, ARunningWorkerNoticesANewFeed) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}});
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == 1; }));
}

TEST_F(Stopping, TheListenerReportsTheDrain) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/feed.xml")}});
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  ASSERT_NE(address, "") << worker.err();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); }));
  EXPECT_TRUE(get(address, "/livez").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(eventually([&] {
    return get(address, "/metrics").find("feedmill_entries_total{action=\"created\"} 1\n") != std::string::npos;
  })) << get(address, "/metrics");
  EXPECT_NE(get(address, "/metrics").find("feedmill_refreshes_total{outcome=\"updated\"} 1"), std::string::npos);
  EXPECT_TRUE(get(address, "/etc/passwd").starts_with("HTTP/1.1 404"));
}

TEST_F(Stopping, AListenerWithABusyPortIsRetried) {
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  ASSERT_NE(address, "") << worker.err();
  const Finished second = world.run({"run", "--listen", address});
  EXPECT_EQ(second.exit, 75) << "systemd starts it again";
  EXPECT_NE(second.err.find("--listen"), std::string::npos);
}

TEST_F(Stopping, ReadinessFollowsRedisAndLivenessDoesNot) {
  Program worker({"run", "--listen", "127.0.0.1:0"}, world.environment);
  const std::string address = listening_at(worker);
  ASSERT_NE(address, "") << worker.err();
  ASSERT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); }));
  world.redis.kill();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 503"); }));
  EXPECT_TRUE(get(address, "/livez").starts_with("HTTP/1.1 200"));
  world.redis.start();
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz").starts_with("HTTP/1.1 200"); }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

// RELIABILITY D5
TEST_F(Stopping, AStatusLineIsWrittenWhenAskedFor) {
  Feeds(world.store).add(std::vector{NewFeed{.feed_url = world.http.url("/none.xml")}});
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  worker.signal(SIGUSR1);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=notice msg=ready") != std::string::npos; }))
      << worker.err();
  EXPECT_NE(worker.err().find("feeds=1"), std::string::npos) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

// SECURITY K4
TEST_F(Stopping, CoreDumpsOfAWorkerAreDisabled) {
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=ready") != std::string::npos; }));
  const auto limits_of = [](const Program& program) {
    std::ifstream file("/proc/" + std::to_string(program.pid()) + "/limits");
    std::string found;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Max core file size")) found = line;
    }
    return found;
  };
  const std::string limits = limits_of(worker);
  EXPECT_EQ(limits.find_first_not_of(' ', std::string("Max core file size").size()), limits.find("0 ")) << limits;
  world.environment["FEEDMILL_DEBUG_CORE"] = "true";
  Program open({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return open.err().find("event=ready") != std::string::npos; }));
  rlimit ours{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &ours), 0);
  if (ours.rlim_max != 0) {
    EXPECT_NE(limits_of(open), limits);
  }
}

}  // namespace
}  // namespace feedmill::test::stop_test
