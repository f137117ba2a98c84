// feedmill trace: one refresh with every decision.
#include <cstring>
#include <memory>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/ingest/ingest.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::trace_test {
namespace {

namespace json = boost::json;

class Trace : public testing::Test {
 protected:
  void serve(const std::string& second = "Second") {
    world.http.serve("/feed.xml", {.headers = {{"Content-Type", "application/rss+xml"}},
                                   .body = rss({{"b", second}, {"a", "First"}}),
                                   .etag = "\"" + second + "\""});
    url = world.http.url("/feed.xml");
  }
  /// Name and text of each step, in order.
  std::vector<std::pair<std::string, std::string>> traced(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"trace", url, "--json", "--ignore-floor"});
    const Finished done = world.run(arguments);
    EXPECT_EQ(done.exit, 0) << done.err;
    std::vector<std::pair<std::string, std::string>> steps;
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) {
      const json::object row = json::parse(line).as_object();
      EXPECT_EQ(row.at("schema"), 1);
      EXPECT_GE(row.at("ms").to_number<std::int64_t>(), 0);
      steps.emplace_back(row.at("step").as_string(), row.at("text").as_string());
    }
    return steps;
  }
  static std::string all_of(const std::vector<std::pair<std::string, std::string>>& steps, std::string_view name) {
    std::string text;
    for (const auto& [step, words] : steps) {
      if (step == name) text += words + "\n";
    }
    return text;
  }
  std::string field(const std::string& name) { return world.redis_text({"HGET", "state:feed:" + url, name}); }

  World world;
  std::string url;
};

TEST_F(Trace, TellsARefreshFromTheClaimToTheCommit) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  const auto steps = traced();
  std::vector<std::string> order;
  for (const auto& [step, words] : steps) {
    if (order.empty() || order.back() != step) order.push_back(step);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"host", "claim", "request", "answer", "header", "egress", "time", "read",
                                             "compare", "entry", "signal", "decide", "next", "commit"}));
  EXPECT_NE(all_of(steps, "request").find("GET " + url + "\nunconditional"), std::string::npos);
  EXPECT_EQ(all_of(steps, "compare"), "2 unknown, 0 trimmed before, 0 the same, 0 different\n");
  EXPECT_EQ(all_of(steps, "entry"), "new: Second\nnew: First\n");
  EXPECT_EQ(all_of(steps, "signal"), "feed_created\n");
  EXPECT_EQ(all_of(steps, "decide"), "updated; state new -> healthy\n");
  EXPECT_EQ(all_of(steps, "commit"), "stored: 2 created, 0 modified, 0 trimmed, 3 signals\n");
  EXPECT_EQ(world.count("post_created"), 2U) << "what it tells has been done";
}

TEST_F(Trace, ShowsChangedAndUnchangedPosts) {
  serve();
  ASSERT_EQ(world.run({"add", url, "--now"}).exit, 0);
  const auto idle = traced();
  EXPECT_NE(all_of(idle, "request").find("If-None-Match: \"Second\"\n"), std::string::npos);
  EXPECT_EQ(all_of(idle, "read"), "not modified\n");
  EXPECT_EQ(all_of(idle, "entry"), "");
  serve("Second, corrected");
  const auto busy = traced();
  EXPECT_EQ(all_of(busy, "compare"), "0 unknown, 0 trimmed before, 1 the same, 1 different\n");
  EXPECT_EQ(all_of(busy, "entry"), "Entry:2 changed (title): Second, corrected\n");
}

TEST_F(Trace, TellsWhyItFailed) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  world.http.serve("/feed.xml", {.status = 503, .headers = {{"Retry-After", "3600"}}});
  const auto steps = traced();
  EXPECT_EQ(all_of(steps, "read"), "status 503\n");
  EXPECT_NE(all_of(steps, "decide").find("failed status.server"), std::string::npos) << all_of(steps, "decide");
  EXPECT_NE(all_of(steps, "next").find("retry_after"), std::string::npos) << all_of(steps, "next");
}

TEST_F(Trace, RefusesWhatMayNotBeFetchedNow) {
  serve();
  EXPECT_EQ(world.run({"trace", url}).exit, 1) << "no such feed";
  ASSERT_EQ(world.run({"add", url, "--now"}).exit, 0);
  const Finished early = world.run({"trace", url}, {{"FEEDMILL_SCHEDULE_MANUAL_FLOOR", "5min"}});
  EXPECT_EQ(early.exit, 1);
  EXPECT_NE(early.err.find("--ignore-floor"), std::string::npos) << early.err;
  ASSERT_EQ(world.run({"pause", url}).exit, 0);
  const Finished paused = world.run({"trace", url, "--ignore-floor"});
  EXPECT_EQ(paused.exit, 1);
  EXPECT_NE(paused.err.find("paused"), std::string::npos) << paused.err;
}

TEST_F(Trace, SaysWhenAnotherProcessIsAtIt) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  ClaimRequest request;
  request.worker = std::string(32, 'a');
  request.request = 1;
  request.host = {64, Milliseconds(0)};
  request.only = {url};
  ASSERT_EQ(Ingest(world.store).claim(request)->claims.size(), 1U);
  const Finished refused = world.run({"trace", url, "--ignore-floor"});
  EXPECT_EQ(refused.exit, 75);
  EXPECT_NE(refused.err.find("a worker is fetching"), std::string::npos) << refused.err;
}

/// Traces a refresh that another process performs.
TEST_F(Trace, FollowsAFeedInARunningWorker) {
  serve();
  world.http.serve("/other.xml", {.body = rss({{"x", "Other"}})});
  world.environment["FEEDMILL_SCHEDULE_MIN_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_FLOOR"] = "1s";
  ASSERT_EQ(world.run({"add", url, world.http.url("/other.xml")}).exit, 0);
  Program follower({"trace", url, "--live", "--for", "1h", "--json"}, world.environment);
  ASSERT_TRUE(eventually([&] { return !field("trace_until").empty() && field("trace_until") != "(nil)"; }));
  Program worker({"run"}, world.environment);
  const auto told = [&](const std::string& words) { return follower.out().find(words) != std::string::npos; };
  ASSERT_TRUE(eventually([&] { return told("\"step\":\"end\",\"text\":\"updated\""); }))
      << follower.err() << worker.err();
  EXPECT_TRUE(told("\"step\":\"worker\",\"text\":\"process " + std::to_string(worker.pid()))) << follower.out();
  for (const char* const step : {"claim", "request", "answer", "read", "entry", "signal", "decide", "next", "commit"}) {
    EXPECT_TRUE(told("\"step\":\"" + std::string(step) + "\"")) << step;
  }
  ASSERT_TRUE(eventually([&] { return told("\"text\":\"not_modified\""); })) << "the next refresh, too";
  EXPECT_FALSE(told("/other.xml")) << "nobody follows that one";
  EXPECT_EQ(world.redis_text({"EXISTS", "state:trace:" + world.http.url("/other.xml")}), "0");
  follower.signal(SIGINT);
  EXPECT_EQ(follower.wait().exit, 130);
  EXPECT_EQ(field("trace_until"), "(nil)");
  EXPECT_TRUE(eventually([&] { return world.redis_text({"EXISTS", "state:trace:" + url}) == "0"; }));
}

class LeavingATrace : public Trace, public testing::WithParamInterface<int> {
 protected:
  bool is_marked() { return field("trace_until") != "(nil)"; }
};

TEST_P(LeavingATrace, RemovesTheMark) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  Program follower({"trace", url, "--live", "--for", "1h"}, world.environment);
  ASSERT_TRUE(eventually([&] { return is_marked(); })) << follower.err();
  follower.signal(GetParam());
  EXPECT_EQ(follower.wait().exit, 130);
  EXPECT_FALSE(is_marked());
}

INSTANTIATE_TEST_SUITE_P(Signals, LeavingATrace, testing::Values(SIGTERM, SIGINT, SIGHUP),
                         [](const auto& test) { return std::string(sigabbrev_np(test.param)); });

TEST_F(Trace, MarkOfAKilledProcessExpires) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  Program follower({"trace", url, "--live", "--for", "1h"}, world.environment);
  ASSERT_TRUE(eventually([&] { return field("trace_until") != "(nil)"; })) << follower.err();
  follower.signal(SIGKILL);
  EXPECT_EQ(follower.wait().exit, -SIGKILL);
  EXPECT_LE(std::stoll(field("trace_until")), (*world.store.now() + std::chrono::seconds(30)).count())
      << "not for the hour that was asked for";
}

TEST_F(Trace, RemovesItsMarkAtTheTimeLimit) {
  serve();
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  EXPECT_EQ(world.run({"trace", url, "--live", "--for", "1s"}).exit, 1) << "nobody refreshed it";
  EXPECT_EQ(field("trace_until"), "(nil)");
}

/// A renewed mark may end a millisecond earlier or later than the old one, and the store keeps the later end: with
/// several followers at least one meets that case.
TEST_F(Trace, RemovesItsMarkAfterRenewals) {
  std::vector<std::string> urls;
  for (const char* const path : {"/1.xml", "/2.xml", "/3.xml", "/4.xml", "/5.xml"})
    urls.push_back(world.http.url(path));
  std::vector<std::unique_ptr<Program>> followers;
  for (const std::string& one : urls) {
    ASSERT_EQ(world.run({"add", one}).exit, 0);
    followers.push_back(std::make_unique<Program>(std::vector<std::string>{"trace", one, "--live", "--for", "2500ms"},
                                                  world.environment));
  }
  for (const auto& follower : followers) EXPECT_EQ(follower->wait().exit, 1);
  for (const std::string& one : urls) {
    EXPECT_EQ(world.redis_text({"HGET", "state:feed:" + one, "trace_until"}), "(nil)") << one;
  }
}

TEST_F(Trace, ReportsThatTheFeedWasNotRefreshed) {
  serve();
  EXPECT_EQ(world.run({"trace", url, "--live"}).exit, 1) << "no such feed";
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  const Finished nobody = world.run({"trace", url, "--live", "--for", "1s"});
  EXPECT_EQ(nobody.exit, 1);
  EXPECT_NE(nobody.err.find("no worker refreshed"), std::string::npos) << nobody.err;
  EXPECT_EQ(world.http.count("/feed.xml"), 0U);
  EXPECT_EQ(world.run({"trace", url, "--for", "soon"}).exit, 64);
  EXPECT_EQ(world.run({"trace", url, "--live", "--ignore-floor"}).exit, 64);
}

}  // namespace
}  // namespace feedmill::test::trace_test
