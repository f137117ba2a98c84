// A signal at any point between main()'s first line and readiness (RELIABILITY D1): the worker is stopped there,
// signalled, and continued.
#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/own_server_world.hpp"

namespace feedmill::test::stop_points_test {
namespace {

struct Point {
  const char* name;
  bool own_server;
  int signal;
};

void PrintTo(const Point& point, std::ostream* out) {
  *out << point.name;
}

class StopPoints : public testing::TestWithParam<Point> {};

TEST_P(StopPoints, EndWithExitZeroAndNothingLeft) {
  World world;
  OwnServerWorld own;
  Environment& environment = GetParam().own_server ? own.environment : world.environment;
  environment["FEEDMILL_PAUSE_AT"] = std::string(GetParam().name) + ":1";
  Program worker({"run"}, environment);
  ASSERT_TRUE(worker.stopped()) << worker.err();
  worker.signal(GetParam().signal);
  worker.signal(SIGHUP);  // a reload does not end it either
  worker.signal(SIGCONT);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(own.left_behind(), "");
  EXPECT_EQ(done.err.find("level=error"), std::string::npos) << done.err;
}

std::vector<Point> points() {
  // B0: main(). B1: about to start the private server. B2: it runs and has not replied. B3: listeners are bound. B4:
  // about to contact the store. B5: the store has replied. B6: about to stop the private server.
  std::vector<Point> all;
  for (const char* const name : {"B0", "B3", "B4", "B5"}) {
    all.push_back({name, false, SIGTERM});
    all.push_back({name, true, SIGINT});
  }
  all.push_back({"B1", true, SIGTERM});
  all.push_back({"B2", true, SIGTERM});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, StopPoints, testing::ValuesIn(points()), [](const auto& test) {
  return std::string(test.param.name) + (test.param.own_server ? "_OwnServer" : "_Redis");
});

/// PID of the worker's private server once the worker is ready; 0 if that never happens.
int server_of(const Program& worker) {
  if (!eventually([&] { return worker.err().find("event=ready") != std::string::npos; })) return 0;
  const std::string said = worker.err();
  return std::stoi(said.substr(said.find(" pid=") + 5));
}

/// RELIABILITY D2: a second signal ends the worker even though the private server has not ended yet.
TEST(StopPointsOfTheEnd, ASecondSignalDoesNotWaitForThePrivateServer) {
  OwnServerWorld own;
  own.environment["FEEDMILL_PAUSE_AT"] = "B6:1";
  Program worker({"run"}, own.environment);
  const int server = server_of(worker);
  ASSERT_GT(server, 0) << worker.err();
  worker.signal(SIGTERM);
  ASSERT_TRUE(worker.stopped()) << worker.err();
  kill(server, SIGSTOP);  // like a server with much to write
  worker.signal(SIGTERM);
  worker.signal(SIGCONT);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(kill(server, SIGCONT), 0);  // it was not killed
  EXPECT_TRUE(eventually([&] { return own.left_behind().find(".lock") == std::string::npos; })) << own.left_behind();
}

/// RELIABILITY D2: a second signal also ends the worker if the server's socket was deleted, so that no command can stop
/// the server.
TEST(StopPointsOfTheEnd, ASecondSignalDoesNotWaitForAServerWithoutASocket) {
  OwnServerWorld own;
  own.environment["FEEDMILL_PAUSE_AT"] = "B6:1";
  Program worker({"run"}, own.environment);
  const int server = server_of(worker);
  ASSERT_GT(server, 0) << worker.err();
  worker.signal(SIGTERM);
  ASSERT_TRUE(worker.stopped()) << worker.err();
  for (const auto& entry : std::filesystem::directory_iterator(own.home / "run")) {
    if (entry.path().extension() == ".sock") std::filesystem::remove(entry.path());
  }
  kill(server, SIGSTOP);
  worker.signal(SIGTERM);
  worker.signal(SIGCONT);
  EXPECT_EQ(worker.wait().exit, 0);
  EXPECT_EQ(kill(server, SIGCONT), 0);  // a worker that waits for it in vain would kill it
  EXPECT_TRUE(eventually([&] { return own.left_behind().find(".lock") == std::string::npos; })) << own.left_behind();
}

/// Before it abandons an unresponsive private server, the worker has asked it to end.
TEST(StopPointsOfTheEnd, AFrozenPrivateServerEndsWhenItIsResumed) {
  OwnServerWorld own;
  Program worker({"run"}, own.environment);
  const int server = server_of(worker);
  ASSERT_GT(server, 0) << worker.err();
  kill(server, SIGSTOP);
  worker.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return worker.err().find("event=drain") != std::string::npos; }));
  worker.signal(SIGTERM);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 75) << done.err;
  EXPECT_EQ(kill(server, SIGCONT), 0);
  const bool ended = eventually([&] { return own.left_behind().find(".lock") == std::string::npos; });
  EXPECT_TRUE(ended) << own.left_behind();
  if (!ended) kill(server, SIGKILL);
}

/// At B0 a signal ends a verb as usual, without a drain.
TEST(StopPointsOfVerbs, AreEndedByTheSignal) {
  World world;
  world.environment["FEEDMILL_PAUSE_AT"] = "B0:1";
  Program verb({"list"}, world.environment);
  ASSERT_TRUE(verb.stopped());
  verb.signal(SIGTERM);
  verb.signal(SIGCONT);
  EXPECT_EQ(verb.wait().exit, -SIGTERM);
}

// RELIABILITY L10. S24: the feed is added, and the verb has not asked for a refresh yet.
TEST(StopPointsOfVerbs, AddNowAsksThePublisherOnceWhenAWorkerClaimsTheFeedFirst) {
  World world;
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1h";
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";
  const std::string added = world.http.url("/added.xml"), known = world.http.url("/known.xml");
  world.http.serve("/added.xml", {.body = rss({{"a", "A"}}), .hold_until = 2});  // held until the verb wakes `known`
  world.http.serve("/known.xml", {.body = rss({{"b", "B"}})});
  ASSERT_EQ(world.run({"add", known}).exit, 0);
  world.redis_text({"ZADD", "schedule", std::to_string((*world.store.now() + std::chrono::hours(24)).count()), known});
  Program worker({"run"}, world.environment);
  Program verb({"add", added, known, "--now"}, world.with({{"FEEDMILL_PAUSE_AT", "S24"}}));
  ASSERT_TRUE(verb.stopped()) << verb.err();
  ASSERT_TRUE(eventually([&] { return world.http.count("/added.xml") == 1; })) << worker.err();
  verb.signal(SIGCONT);
  const Finished done = verb.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.http.count("/added.xml"), 1U);
  EXPECT_EQ(world.http.count("/known.xml"), 1U);
  for (const std::string& url : {added, known}) {
    const std::int64_t due = std::stoll(world.redis_text({"ZSCORE", "schedule", url}));
    const std::int64_t last = std::stoll(world.redis_text({"HGET", "state:feed:" + url, "last_at"}));
    EXPECT_GE(due - last, 3'600'000) << url << world.run({"explain", url}).out;
  }
}

}  // namespace
}  // namespace feedmill::test::stop_points_test
