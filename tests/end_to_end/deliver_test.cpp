// Timelines, notices and their verbs through the program, and recovery after the delivery half crashes.
#include <fstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/counts.hpp"

namespace feedmill::test::deliver_test {
namespace {

namespace json = boost::json;

class Delivering : public testing::Test {
 protected:
  std::string good(const std::vector<std::string>& arguments) {
    const Finished done = world.run(arguments);
    EXPECT_EQ(done.exit, 0) << arguments[0] << ": " << done.err;
    return done.out;
  }
  std::vector<json::object> rows(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    std::istringstream lines(good(arguments));
    std::vector<json::object> all;
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line).as_object());
    return all;
  }
  std::string add(const std::string& path, const std::vector<std::pair<std::string, std::string>>& posts) {
    world.http.serve(path, {.body = rss(posts)});
    good({"add", world.http.url(path)});
    return world.http.url(path);
  }
  void pass() {
    good({"refresh", "--all", "--defer", "--ignore-floor"});
    good({"run", "--once"});
  }

  World world;
};

TEST_F(Delivering, RunOnceEndsWithEverythingDelivered) {
  const std::string url = add("/feed.xml", {{"a", "Redis 7.2 is out"}});
  good({"channel", "add", "anna/news", "bob/news"});
  good({"channel", "feeds", "anna/news", "--add", url});
  good({"notify", "rules", "anna", "--words", "redis fast", "--channel", "anna/news"});
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", "zchannel:anna/news:posts"}), "1");
  EXPECT_TRUE(rows({"notify", "list", "anna"}).empty()) << "a back-catalogue is no news";
  world.http.serve("/feed.xml", {.body = rss({{"b", "Redis, fast"}, {"a", "Redis 7.2 is out"}})});
  pass();

  const auto channels = rows({"channel", "list"});
  ASSERT_EQ(channels.size(), 2U);
  EXPECT_EQ(channels[0].at("channel"), "anna/news");
  EXPECT_EQ(channels[0].at("unread"), 2);
  EXPECT_EQ(channels[0].at("feeds"), 1);
  EXPECT_EQ(rows({"channel", "list", "--user", "bob"}).size(), 1U);
  const auto timeline = rows({"channel", "timeline", "anna/news", "--limit", "1"});
  ASSERT_EQ(timeline.size(), 1U);
  EXPECT_EQ(timeline[0].at("title"), "Redis, fast");
  const std::string older = std::string(timeline[0].at("cursor").as_string());
  EXPECT_EQ(rows({"channel", "timeline", "anna/news", "--before", older})[0].at("id"), "Entry:1");

  EXPECT_EQ(rows({"channel", "read", "anna/news", "Entry:2"})[0].at("marked_read"), 1);
  EXPECT_EQ(rows({"channel", "unread-count", "anna/news"})[0].at("unread"), 1);
  EXPECT_EQ(rows({"channel", "unread", "anna/news", "Entry:2"})[0].at("marked_unread"), 1);
  EXPECT_EQ(rows({"channel", "read", "anna/news", "2"})[0].at("marked_read"), 1) << "the number alone is enough";
  EXPECT_EQ(rows({"channel", "unread", "anna/news", "2"})[0].at("marked_unread"), 1);
  EXPECT_EQ(rows({"channel", "read", "anna/news", "--all"})[0].at("marked_read"), 2);
  good({"channel", "order", "bob/news"});
  EXPECT_EQ(rows({"channel", "list"})[0].at("channel"), "bob/news");

  const auto notices = rows({"notify", "list", "anna"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].at("entity_id"), "Entry:2");
  EXPECT_EQ(json::serialize(notices[0].at("why")), R"(["channel anna/news","words redis fast"])");
  const std::string id = std::string(notices[0].at("id").as_string());
  EXPECT_EQ(rows({"notify", "read", "anna", id})[0].at("marked_read"), 1);
  EXPECT_TRUE(rows({"notify", "list", "anna", "--unread"}).empty());
  EXPECT_EQ(rows({"notify", "delete", "anna", "--all"})[0].at("deleted"), 1);

  const auto stats = rows({"stats"});
  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].at("feeds"), 1);
  EXPECT_EQ(json::serialize(stats[0].at("groups")), R"([{"name":"delivery","lag_records":0,"lag_seconds":0}])");
  good({"channel", "feeds", "anna/news", "--remove", url});
  EXPECT_TRUE(rows({"channel", "feeds", "anna/news"}).empty());
  EXPECT_EQ(world.run({"channel", "remove", "anna/news"}).exit, 64);
  good({"channel", "remove", "anna/news", "bob/news", "--yes"});
  EXPECT_TRUE(rows({"notify", "rules", "anna"}).size() == 1) << "the rule on the channel went with it";
  EXPECT_EQ(world.redis_text({"KEYS", "*channel*"}), "");
}

TEST_F(Delivering, ReadsNothingWithoutSubscribersAndTheFirstMissesNothing) {
  const std::string url = add("/feed.xml", {{"a", "First"}});
  pass();
  const std::string lag = R"([{"name":"delivery","lag_records":0,"lag_seconds":0}])";
  EXPECT_EQ(json::serialize(rows({"stats"})[0].at("groups")), lag);
  EXPECT_EQ(world.redis_text({"INFO", "commandstats"}).find("xreadgroup"), std::string::npos);
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  good({"refresh", "--all", "--defer", "--ignore-floor"});
  good({"run", "--once", "--no-deliver"});
  good({"channel", "add", "news"});
  good({"channel", "feeds", "news", "--add", url});
  good({"notify", "rules", "anna", "--channel", "news"});
  world.http.serve("/feed.xml", {.body = rss({{"c", "Third"}, {"b", "Second"}, {"a", "First"}})});
  pass();
  EXPECT_EQ(world.redis_text({"ZCARD", "zchannel:news:posts"}), "3");
  EXPECT_EQ(rows({"notify", "list", "anna"}).size(), 2U) << "of all that was not delivered before";
  EXPECT_EQ(json::serialize(rows({"stats"})[0].at("groups")), lag);
  EXPECT_EQ(world.run({"verify"}, {{"FEEDMILL_REDIS_URL", world.redis.url_of("feedmill_admin")}}).exit, 0);
}

TEST_F(Delivering, ReportsWrongArguments) {
  EXPECT_EQ(world.run({"channel"}).exit, 64);
  EXPECT_EQ(world.run({"channel", "add"}).exit, 64);
  EXPECT_EQ(world.run({"channel", "add", "a\tb"}).exit, 64);
  EXPECT_EQ(world.run({"channel", "read", "news"}).exit, 64);
  EXPECT_EQ(world.run({"channel", "timeline", "nobody"}).exit, 1);
  EXPECT_EQ(world.run({"channel", "read", "nobody", "--all"}).exit, 1);
  EXPECT_EQ(world.run({"channel", "order", "nobody"}).exit, 1);
  EXPECT_EQ(world.run({"channel", "remove", "nobody", "--yes"}).exit, 1);
  good({"channel", "add", "news"});
  const Finished unknown = world.run({"channel", "feeds", "news", "--add", "https://no.where/"});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_NE(unknown.err.find("add it first"), std::string::npos) << unknown.err;
  EXPECT_EQ(world.run({"notify", "rules", "anna", "--words", "..."}).exit, 65);
  EXPECT_EQ(world.run({"notify", "rules", "anna", "--words", "w\xff"}).exit, 65);
  const Finished unnamed = world.run({"import", "-", "--user", ""});
  EXPECT_EQ(unnamed.exit, 64);
  EXPECT_NE(unnamed.err.find("--user is empty"), std::string::npos) << unnamed.err;
  EXPECT_EQ(world.run({"channel", "add", "\xff"}).exit, 64);
  world.redis_text({"SADD", "channels", "\xff", "/a"});  // as an older build stored it
  EXPECT_EQ(world.run({"channel", "timeline", "\xff"}).exit, 0);
  good({"channel", "remove", "\xff", "/a", "--yes"});
  EXPECT_EQ(world.redis_text({"SMEMBERS", "channels"}), "news");
  for (const char* user : {"global", "topic:words redis"}) {
    const Finished refused = world.run({"notify", "rules", user, "--words", "redis"});
    EXPECT_EQ(refused.exit, 64) << user;
    EXPECT_NE(refused.err.find("notifications:"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(world.run({"notify", "rules", "anna", "--remove", "17"}).exit, 1);
  EXPECT_EQ(world.run({"notify", "list"}).exit, 64);
  EXPECT_EQ(world.run({"run", "--no-ingest", "--no-deliver"}).exit, 78);
}

// HTTP §4
TEST_F(Delivering, NotifiesOperatorsOnceOfADegradedFeed) {
  const std::string url = add("/feed.xml", {{"a", "First"}});
  pass();
  world.http.serve("/feed.xml", {.status = 500});
  for (int i = 0; i < 5; ++i) pass();
  auto notices = rows({"notices"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].at("type"), "feed_degraded");
  EXPECT_EQ(notices[0].at("feed_url").as_string(), url);
  EXPECT_EQ(notices[0].at("reason"), "status.server");
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  for (int i = 0; i < 2; ++i) pass();
  notices = rows({"notices"});
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].at("type"), "feed_recovered");
}

TEST_F(Delivering, NotifiesOperatorsOnceOfEachStep) {
  const std::string url = add("/feed.xml", {{"a", "First"}});
  pass();
  world.http.serve("/feed.xml", {.status = 451});
  for (int i = 0; i < 3; ++i) pass();
  ASSERT_EQ(rows({"notices"}).size(), 1U);
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  for (int i = 0; i < 2; ++i) pass();
  const auto notices = rows({"notices"});
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].at("type"), "feed_recovered");
  EXPECT_EQ(notices[1].at("type"), "feed_failing");
  EXPECT_EQ(notices[1].at("feed_url").as_string(), url);
  EXPECT_EQ(notices[1].at("reason"), "status.legal");
  EXPECT_FALSE(notices[1].at("remedy").as_string().empty());
  EXPECT_EQ(rows({"notices", "--clear"})[0].at("deleted"), 2);
  EXPECT_TRUE(rows({"notices"}).empty());
}

TEST_F(Delivering, ImportsFoldersAsChannelsAndExportsThemAsFolders) {
  const std::string file = world.redis.directory() / "list.opml";
  std::ofstream(file) << R"(<opml version="2.0"><body>
    <outline text="Tech"><outline text="Data/Bases"><outline type="rss" text="One" xmlUrl="https://one.org/" odd="kept"/></outline>
      <outline type="rss" text="Two" xmlUrl="https://two.org/"/></outline>
    <outline type="rss" text="Three" xmlUrl="https://three.org/"/></body></opml>)";
  good({"import", file, "--user", "anna"});
  std::vector<std::string> uids;
  for (const json::object& channel : rows({"channel", "list"})) uids.emplace_back(channel.at("channel").as_string());
  EXPECT_EQ(uids, (std::vector<std::string>{"anna/Tech/Data/Bases", "anna/Tech"}));
  const std::string mine = good({"export", "--user", "anna"});
  EXPECT_NE(mine.find("<outline text=\"Data/Bases\""), std::string::npos) << mine;
  EXPECT_NE(mine.find("odd=\"kept\""), std::string::npos);
  EXPECT_EQ(mine.find("three.org"), std::string::npos) << "in no channel of hers";
  good({"channel", "feeds", "anna/Tech", "--remove", "https://two.org/"});
  good({"channel", "add", "bob/own"});
  good({"channel", "feeds", "bob/own", "--add", "https://two.org/"});
  const std::string his = good({"export", "--user", "bob"});
  EXPECT_NE(his.find("<outline text=\"own\""), std::string::npos) << his;
  EXPECT_EQ(his.find("one.org"), std::string::npos);
  // Exporting and re-importing everything gives the same channels.
  std::ofstream(file) << good({"export"});
  const std::string before = world.redis_text({"SMEMBERS", "channel:bob/own:feeds"});
  good({"channel", "remove", "bob/own", "--yes"});
  good({"import", file});
  EXPECT_EQ(world.redis_text({"SMEMBERS", "channel:bob/own:feeds"}), before);
}

TEST_F(Delivering, EachHalfRunsByItself) {
  const std::string url = add("/feed.xml", {{"a", "First"}});
  good({"channel", "add", "news"});
  good({"channel", "feeds", "news", "--add", url});
  Program ingest({"run", "--no-deliver"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == 1; }));
  EXPECT_EQ(world.redis_text({"EXISTS", "deliver:timelines:000", "zchannel:news:posts"}), "0");
  const auto waiting = rows({"stats"});
  EXPECT_TRUE(waiting[0].at("groups").as_array().empty());
  Program deliver({"run", "--no-ingest"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", "zchannel:news:posts"}) == "1"; }));
  EXPECT_EQ(world.redis_text({"EXISTS", "lock:delivery:000"}), "1");
  world.http.serve("/feed.xml", {.body = rss({{"b", "Second"}, {"a", "First"}})});
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", "zchannel:news:posts"}) == "2"; }));
  for (Program* half : {&ingest, &deliver}) {
    half->signal(SIGTERM);
    EXPECT_EQ(half->wait().exit, 0);
  }
  EXPECT_EQ(world.redis_text({"EXISTS", "lock:delivery:000"}), "0") << "given back";
}

TEST_F(Delivering, LosesAndDuplicatesNothingDespiteRepeatedKills) {
  constexpr int feeds = 12;
  good({"channel", "add", "all"});
  std::vector<std::string> arguments{"channel", "feeds", "all"};
  for (int i = 0; i < feeds; ++i) {
    arguments.emplace_back("--add");
    arguments.push_back(add("/feed/" + std::to_string(i), {{"a", "First"}}));
  }
  good(arguments);
  good({"notify", "rules", "anna", "--channel", "all"});
  Program ingest({"run", "--no-deliver"}, world.environment);
  ASSERT_TRUE(eventually([&] { return world.count("post_created") == feeds; }));
  const int kills = tries(1, 4, 4);
  for (int kill = 1; kill <= kills; ++kill) {
    Program deliver({"run", "--no-ingest"}, world.environment);
    std::vector<std::pair<std::string, std::string>> posts{{"a", "First"}};
    for (int i = 0; i < kill * 3; ++i) posts.insert(posts.begin(), {"n" + std::to_string(i), "Later"});
    for (int i = 0; i < feeds; ++i) world.http.serve("/feed/" + std::to_string(i), {.body = rss(posts)});
    const auto wanted = static_cast<std::size_t>(feeds) * (1 + kill * 3);
    // Kill it while events arrive; afterwards the dead worker's delivery lock must expire.
    EXPECT_TRUE(eventually([&] { return world.count("post_created") > wanted - feeds; }));
    deliver.signal(SIGKILL);
    deliver.wait();
    world.redis_text({"DEL", "lock:delivery:000"});
    EXPECT_TRUE(eventually([&] { return world.count("post_created") == wanted; }));
  }
  ingest.signal(SIGTERM);
  EXPECT_EQ(ingest.wait().exit, 0);
  good({"run", "--once", "--no-ingest"});
  EXPECT_EQ(world.redis_text({"ZCARD", "zchannel:all:posts"}), std::to_string(feeds * (1 + kills * 3)));
  EXPECT_EQ(world.redis_text({"LLEN", "list:notification:user_id:anna"}), "30");
  EXPECT_EQ(world.redis_text({"HLEN", "hash:notification:user_id:anna"}), "30");
  EXPECT_EQ(world.redis_text({"XPENDING", "stream:signals", "delivery"}).substr(0, 2), "0 ");
}

}  // namespace
}  // namespace feedmill::test::deliver_test
