// The status page of a running worker (OPERATIONS §6).
#include <filesystem>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::status_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

boost::json::value body_json(const std::string& answer) {
  return boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
}

TEST(StatusOfAWorker, ShowsItsRecentWork) {
  World world;
  world.http.serve("/feed.xml", Response{.body = rss({{"a", "First &amp; foremost"}, {"b", "Second"}}, "A & feed")});
  world.http.serve("/gone.xml", Response{.status = 500});
  const std::string url = world.http.url("/feed.xml");
  ASSERT_EQ(world.run({"add", url, world.http.url("/gone.xml")}).exit, 0);
  const Program worker({"run", "--listen", "127.0.0.1:0"},
                       world.with({{"FEEDMILL_SCHEDULE_FLOOR", "1h"}, {"FEEDMILL_SCHEDULE_CEILING", "1h"}}));
  const std::string at = listening_at(worker);
  ASSERT_TRUE(eventually([&] { return world.count("post_created") == 2; }));
  ASSERT_TRUE(eventually([&] {
    const auto failed = world.run({"show", "--json", world.http.url("/gone.xml")});
    return failed.out.find("status.server") != std::string::npos;
  }));
  boost::json::value all;
  // Responses are cached for five seconds: the first may be older than the refreshes.
  ASSERT_TRUE(eventually([&] {
    all = body_json(get(at, "/status.json"));
    return all.at("worker").at("last_1h").at("refreshes").to_number<int>() == 2 &&
           all.at("store").at("workers").as_array().size() == 1;
  })) << all;
  const boost::json::value& hour = all.at("worker").at("last_1h");
  EXPECT_EQ(hour.at("entries_created").to_number<int>(), 2);
  EXPECT_EQ(hour.at("failed").to_number<int>(), 1);
  EXPECT_EQ(hour.at("commits").to_number<int>(), 2);
  EXPECT_EQ(hour.at("hit_rate").to_number<double>(), 0.5);
  EXPECT_EQ(all.at("store").at("feeds").at("total").to_number<int>(), 2);
  EXPECT_EQ(all.at("worker").at("busiest_hosts").at(0).at("host").as_string(), "127.0.0.1");
  EXPECT_EQ(all.at("worker").at("busiest_hosts").at(0).at("failed").to_number<int>(), 1);
  EXPECT_EQ(all.at("store").at("workers").at(0).at("id").as_string(), all.at("worker").at("id").as_string());
  EXPECT_EQ(all.at("configuration").as_string().size(), 16U);

  EXPECT_THAT(get(at, "/"), StartsWith("HTTP/1.1 302 Found\r\n"));
  EXPECT_THAT(get(at, "/"), HasSubstr("\r\nLocation: status\r\n"));
  const std::string page = get(at, "/status");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; style-src 'self';"));
  const std::string feed = get(at, "/status/feed?url=" + url);
  EXPECT_THAT(feed, HasSubstr("A &amp; feed"));
  EXPECT_THAT(feed, HasSubstr("First &amp; foremost"));
  EXPECT_THAT(feed, HasSubstr("New entry <bdi>Second</bdi>"));
  EXPECT_THAT(get(at, "/status/feeds"), HasSubstr("status: server"));
  const auto explained = world.run({"explain", "--json", url});
  boost::json::object ours = body_json(get(at, "/explain?url=" + url)).as_object();
  boost::json::object theirs = boost::json::parse(explained.out).as_object();
  for (boost::json::object* one : {&ours, &theirs}) one->erase("now"), one->at("host").as_object().erase("next_start");
  EXPECT_EQ(ours, theirs);
}

TEST(StatusOfAWorker, RequiresTheToken) {
  World world;
  const std::filesystem::path file = world.redis.directory() / "token";
  std::ofstream(file) << "a-token-of-our-own\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const Program worker({"run", "--listen", "127.0.0.1:0"}, world.with({{"FEEDMILL_ADMIN_TOKEN_FILE", file.string()}}));
  const std::string at = listening_at(worker);
  ASSERT_NE(at, "");
  EXPECT_THAT(get(at, "/livez"), StartsWith("HTTP/1.1 200"));
  for (const char* const target : {"/status", "/status.json", "/status/feeds", "/status/feed", "/explain", "/metrics"})
    EXPECT_THAT(get(at, target), StartsWith("HTTP/1.1 401")) << target;
}

TEST(StatusOfAWorker, RefusesATokenThatIsNone) {
  World world;
  const std::filesystem::path file = world.redis.directory() / "token";
  std::ofstream(file) << "short\n";
  for (const std::string& path : {file.string(), file.string() + ".none"}) {
    const Finished ended = world.run({"run", "--listen", "127.0.0.1:0"}, {{"FEEDMILL_ADMIN_TOKEN_FILE", path}});
    EXPECT_EQ(ended.exit, 78) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("admin.token_file"));
    EXPECT_EQ(ended.err.find("short"), std::string::npos);
  }
}

TEST(StatusOfAWorker, ReportsARedisOutageWhileItLasts) {
  World world;
  const Program worker({"run", "--listen", "127.0.0.1:0"}, world.with({}));
  const std::string at = listening_at(worker);
  ASSERT_TRUE(eventually([&] { return get(at, "/readyz").starts_with("HTTP/1.1 200"); }));
  world.redis.kill();
  ASSERT_TRUE(eventually([&] { return get(at, "/status").find("Redis does not answer") != std::string::npos; }));
  EXPECT_THAT(get(at, "/status/feeds"), StartsWith("HTTP/1.1 503"));
  world.redis.start();
  EXPECT_TRUE(eventually([&] { return get(at, "/status").find("All is well") != std::string::npos; }));
}

}  // namespace
}  // namespace feedmill::test::status_test
