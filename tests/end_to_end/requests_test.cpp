// Programs that ask a running worker (RELIABILITY Q1–Q4), and the verb that is one step (OPERATIONS U9).
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/redis/redis.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::requests_test {
namespace {

TEST(RequestVerbs, AddPutsFeedsIntoAChannelInOneStep) {
  World world;
  const std::string a = world.http.url("/a.xml"), b = world.http.url("/b.xml");
  ASSERT_EQ(world.run({"add", a}).exit, 0);
  const Finished done = world.run({"add", "--channel", "anna/news", a, b});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.out, "present " + a + " in anna/news\nadded " + b + " in anna/news\n");
  EXPECT_EQ(world.run({"channel", "feeds", "anna/news"}).out, a + "\n" + b + "\n");
  EXPECT_EQ(world.run({"add", "--channel", "", a}).exit, 64);
}

TEST(RequestsOfPrograms, ARunningWorkerFetchesWhatAnApplicationSubscribedInItsOwnTransaction) {
  World world;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  redis_command(world.redis, {"ACL", "SETUSER", "feedmill_app", "~app:*", "+set"});
  Program worker({"run"}, world.environment);
  Redis application(*parse_redis_url(world.redis.url_of("feedmill_app")), Milliseconds(5000));
  ASSERT_TRUE(application.command({"MULTI"}));
  ASSERT_TRUE(application.command({"SET", "app:subscribed", "1"}));
  ASSERT_TRUE(application.command(
      {"XADD", "stream:requests", "*", "op", "add", "url", url, "channel", "anna/news", "app", "reader", "ref", "1"}));
  ASSERT_TRUE(application.command({"EXEC"}));
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"ZCARD", "zchannel:anna/news:posts"}) == "1";
  })) << worker.err();
  EXPECT_EQ(world.count("request_done"), 1U);
  EXPECT_EQ(world.redis_text({"XLEN", "stream:requests"}), "0");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST(RequestsOfPrograms, RunOnceAnswersWhatWaitsBeforeItFetches) {
  World world;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", url});
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(world.count("request_done"), 1U);
  EXPECT_EQ(world.count("post_created"), 1U);
}

TEST(RequestsOfPrograms, WithYesterdaysUsersTheWorkerSaysWhatToGrant) {
  World world;
  world.redis_text({"ACL", "SETUSER", "feedmill", "resetchannels", "&post_*", "&feed_*", "-xdel", "-memory|usage"});
  world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", "https://example.org/feed.xml"});
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 78);
  EXPECT_NE(done.err.find("+xdel +memory|usage &request_*"), std::string::npos) << done.err;
  EXPECT_EQ(world.redis_text({"SCARD", "feeds"}), "0");
  EXPECT_EQ(world.redis_text({"XLEN", "stream:requests"}), "1") << "it waits";
}

TEST(RequestsOfPrograms, IngestGoesOnBesideTwentyThousand) {
  World world;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");

  redis_command(world.redis, {"EVAL",
                              "for i = 1, 20000 do redis.call('XADD', 'stream:requests', '*', 'op', 'pause', 'url', "
                              "'https://example.org/' .. i) end",
                              "0"});
  ASSERT_EQ(world.run({"add", url}).exit, 0);
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == 1; })) << worker.err();
  EXPECT_NE(world.redis_text({"XLEN", "stream:requests"}), "0") << "the feed was fetched beside them";
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0) << "what is left is done by the next";
}

}  // namespace
}  // namespace feedmill::test::requests_test
