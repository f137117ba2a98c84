// Posts of doubtful identity, through the whole program (DESIGN §5). tests/worker/ingest/polling_test.cpp tests the
// rules.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::identity_test {
namespace {

class Identifying : public testing::Test {
 protected:
  void serve(const std::string& guids, const std::string& scheme, int first, int last) {
    std::string xml = "<rss version='2.0'><channel><title>Feed</title>";
    for (int n = last; n >= first; --n) {
      const std::string number = std::to_string(n);
      xml += "<item><guid isPermaLink='false'>" + guids + number + "</guid><link>" + scheme +
             "://www.example.org/post/" + number + "</link><title>Post " + number + "</title><pubDate>" + number +
             " Mar 2025 12:00:00 GMT</pubDate></item>";
    }
    world.http.serve("/feed.xml", {.body = xml + "</channel></rss>"});
  }
  void pass() {
    const Finished due = world.run({"refresh", "--all", "--defer", "--ignore-floor"});
    ASSERT_EQ(due.exit, 0) << due.err;
    const Finished done = world.run({"run", "--once"});
    ASSERT_EQ(done.exit, 0) << done.err;
  }
  std::string say(const std::string& verb) { return world.run({verb, world.http.url("/feed.xml")}).out; }

  World world;
};

TEST_F(Identifying, KeepsPostsUnderNewGuidsAndSwitchesWhenThereIsNoEnd) {
  serve("g", "http", 1, 5);
  ASSERT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);
  pass();
  EXPECT_NE(say("explain").find("identity guid, else link, else digest"), std::string::npos);
  for (int fetch = 1; fetch <= 4; ++fetch) {
    serve("fetch-" + std::to_string(fetch) + "-", "https", 1, 5);
    pass();
  }
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), "5");
  EXPECT_EQ(world.count("post_created"), 5U);
  EXPECT_EQ(world.count("feed_rekeyed"), 3U);
  EXPECT_EQ(world.count("feed_gap"), 0U);
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:2", "guid", "link"}),
            "link:example.org/post/2 https://www.example.org/post/2");
  EXPECT_NE(say("explain").find("identity link, else digest, since "), std::string::npos) << say("explain");
  EXPECT_NE(say("show").find("link since "), std::string::npos) << say("show");
}

TEST_F(Identifying, KeepsSinglePostsUnderNewGuids) {
  const std::string text(200, 'x');
  const auto serve_pages = [&](const std::vector<std::string>& pages) {
    std::string xml = "<rss version='2.0'><channel><title>Feed</title>";
    for (std::size_t n = pages.size(); n > 0; --n) {
      const std::string number = std::to_string(n);
      xml += "<item><guid>" + pages[n - 1] + "</guid><link>" + pages[n - 1] + "</link><title>Post " + number +
             "</title><description>" + text + number + "</description><pubDate>" + number +
             " Mar 2025 12:00:00 GMT</pubDate></item>";
    }
    world.http.serve("/feed.xml", {.body = xml + "</channel></rss>"});
    pass();
  };
  std::vector<std::string> pages;
  for (int n = 1; n <= 25; ++n) pages.push_back("http://www.example.org/post/" + std::to_string(n));
  ASSERT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);
  serve_pages(pages);
  EXPECT_EQ(world.count("post_created"), 25U);
  pages[6] = "https://example.org/post/7/";
  serve_pages(pages);
  EXPECT_EQ(world.count("feed_rekeyed"), 1U);
  EXPECT_EQ(world.count("post_modified"), 0U);
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:7", "guid", "link"}), pages[6] + " " + pages[6]);
  pages[12] = "http://www.example.org/post/better-slug";
  pages.emplace_back("http://www.example.org/post/26");
  serve_pages(pages);
  EXPECT_EQ(world.count("feed_rekeyed"), 2U);
  EXPECT_EQ(world.count("post_created"), 26U);
  EXPECT_EQ(world.redis_text({"HMGET", "Entry:13", "guid", "link"}), pages[12] + " " + pages[12]);
  EXPECT_EQ(world.redis_text({"GET", "ids:Entry"}), "26");
}

TEST_F(Identifying, ReportsAGap) {
  world.environment["FEEDMILL_SCHEDULE_CEILING"] = "24h";  // an interval long enough to halve
  serve("g", "https", 1, 5);
  ASSERT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);
  pass();
  EXPECT_EQ(world.count("feed_gap"), 0U);
  serve("g", "https", 20, 25);
  pass();
  EXPECT_EQ(world.count("feed_gap"), 1U);
  EXPECT_EQ(world.count("post_created"), 11U);
  EXPECT_NE(say("explain").find("Posts were missed between the last two fetches"), std::string::npos) << say("explain");
}

}  // namespace
}  // namespace feedmill::test::identity_test
