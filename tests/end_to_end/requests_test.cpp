// Requests from applications to a running worker (RELIABILITY Q1–Q4), and the add verb as a single step.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/redis/redis.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::requests_test {
namespace {

/// Sets up `user` with its rights in the last release.
void set_user_of_yesterday(World& world, const std::string& user) {
  std::ifstream file(FEEDMILL_UPGRADE_DATA "/users.acl");
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::vector<std::string> words{"ACL", "SETUSER"};
    std::string word;
    text >> word;  // "user"
    while (text >> word) words.push_back(word);
    words.push_back(">" + user);
    if (words[2] == user) world.redis_text(words);
  }
}

/// The rights that an error message says to grant, "" if none.
std::string granted_in(const std::string& error) {
  const std::string before = ": grant ";
  const auto at = error.find(before);
  if (at == std::string::npos) return "";
  return error.substr(at + before.size(), error.find(" (", at) - at - before.size());
}

/// All keys with a hash of their values.
std::string all_of(World& world) {
  return world.redis_text({"EVAL",
                           "local keys, all = redis.call('KEYS', '*'), ''; table.sort(keys); "
                           "for _, key in ipairs(keys) do all = all .. key .. redis.sha1hex(redis.call('DUMP', key)) "
                           "end return all",
                           "0"});
}

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

/// RELIABILITY Q5, with only the rights of an application.
TEST(RequestsOfPrograms, ARecordFromTheFutureIsReportedAndStopsNothing) {
  World world;
  world.environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:0";
  Redis application(*parse_redis_url(world.redis.url_of("feedmill_app")), Milliseconds(5000));
  const std::string last_of_all = "18446744073709551615-18446744073709551615";
  ASSERT_TRUE(application.command({"XADD", "stream:requests", last_of_all, "op", "pause", "url", "http://x/"}));
  Program worker({"run"}, world.environment);
  const std::string url = world.http.url("/feed.xml");
  ASSERT_TRUE(eventually([&] {
    return application.command({"XADD", "stream:requests", "*", "op", "add", "url", url}).has_value();
  })) << worker.err();
  EXPECT_TRUE(eventually([&] { return world.redis_text({"SISMEMBER", "feeds", url}) == "1"; })) << worker.err();
  EXPECT_EQ(world.count("request_failed"), 1U);
  const std::string address = listening_at(worker);
  const std::string told = "1 moved to state:requests:poison";
  EXPECT_TRUE(eventually([&] { return get(address, "/readyz?verbose").find(told) != std::string::npos; }));
  EXPECT_TRUE(get(address, "/readyz").starts_with("HTTP/1.1 200"));
  EXPECT_NE(get(address, "/metrics").find("feedmill_requests_set_aside 1\n"), std::string::npos);
  EXPECT_NE(world.run({"doctor"}).out.find(told), std::string::npos);
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

/// An application knows only a site's page. The worker that looks for its feed is killed, and the next one continues.
TEST(RequestsOfPrograms, AnySurvivingWorkerFindsTheFeedOfAPage) {
  World world;
  const std::string head = "<!DOCTYPE html><html><head><title>Site</title>";
  const std::vector<std::pair<std::string, std::string>> html{{"Content-Type", "text/html"}};
  const auto link = [](const std::string& to) {
    return R"(<link rel="alternate" type="application/rss+xml" href=")" + to + R"(">)";
  };
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  world.http.serve("/more.xml", {.body = rss({{"b", "Second"}})});
  world.http.serve("/one", {.headers = html, .body = head + link("/feed.xml"), .delay = Milliseconds(700)});
  world.http.serve("/two", {.headers = html, .body = head + link("/feed.xml") + link("/more.xml")});
  const auto ask = [&](const std::string& path, const std::string& ref, const std::string& page) {
    world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", world.http.url(path), "page", page, "channel",
                      "anna/news", "ref", ref});
  };
  ask("/one", "1", "yes");
  ask("/two", "2", "yes");
  ask("/two", "3", "first");
  Program dies({"run"}, world.environment);
  world.http.wait_for_requests(1);
  dies.signal(SIGKILL);
  dies.wait();
  EXPECT_EQ(world.count("request_done"), 0U);
  world.redis_text({"DEL", "lock:requests"});  // without waiting for its lease to end
  Program worker({"run"}, world.environment);
  EXPECT_TRUE(eventually([&] { return world.count("request_done") == 2; })) << worker.err();
  EXPECT_EQ(world.count("request_failed"), 1U) << "of two feeds none is chosen unasked";
  EXPECT_EQ(world.redis_text({"SMEMBERS", "feeds"}), world.http.url("/feed.xml"));
  EXPECT_TRUE(eventually([&] { return world.redis_text({"ZCARD", "zchannel:anna/news:posts"}) == "1"; }));
  EXPECT_EQ(world.redis_text({"XLEN", "stream:requests"}), "0");
  ask("/none", "4", "yes");
  EXPECT_TRUE(eventually([&] { return world.count("request_failed") == 2; })) << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

/// A worker with the last release's users file leaves no request half executed, and its message suffices for a fix.
TEST(RequestsOfPrograms, WithTheLastReleasesUsersTheWorkerNamesMissingGrants) {
  World world;
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  for (const std::string user : {"feedmill", "feedmill_admin"}) set_user_of_yesterday(world, user);
  world.redis_text(
      {"XADD", "stream:requests", "*", "op", "add", "url", world.http.url("/feed.xml"), "channel", "anna/news"});
  const std::string before = all_of(world);
  const Finished done = world.run({"run", "--once"});
  EXPECT_EQ(done.exit, 78);
  const std::string granting =
      "+blpop +sscan +xdel +memory|usage +xgroup|setid +zintercard +zrevrank &request_* &notifications:*";
  EXPECT_EQ(granted_in(done.err), granting) << done.err;
  const Finished verb = world.run({"verify", "--repair", "--redis", world.redis.url_of("feedmill_admin")});
  EXPECT_EQ(verb.exit, 78) << verb.err;
  EXPECT_EQ(all_of(world), before) << "nothing was done, and the request waits";

  for (const std::string user : {"feedmill", "feedmill_admin"}) {
    std::vector<std::string> words{"ACL", "SETUSER", user};
    std::istringstream names(granting);
    for (std::string name; names >> name;) words.push_back(name);
    EXPECT_EQ(world.redis_text(words), "OK");
  }
  world.redis_text({"ACL", "LOG", "RESET"});
  const Finished next = world.run({"run", "--once"});
  EXPECT_EQ(next.exit, 0) << next.err;
  EXPECT_EQ(world.count("request_done"), 1U);
  EXPECT_EQ(world.count("post_created"), 1U);
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
  EXPECT_EQ(world.redis_text({"ACL", "LOG"}), "") << "nothing was refused";
}

TEST(RequestsOfPrograms, IngestContinuesDuringTwentyThousand) {
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
