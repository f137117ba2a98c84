// Verbs as the published users of deploy/redis/users.acl (SECURITY §10).
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::users_test {
namespace {

using Arguments = std::vector<std::string>;

std::string words_of(const Arguments& arguments) {
  std::string words;
  for (const std::string& argument : arguments) words += (words.empty() ? "" : " ") + argument;
  return words;
}

class Users : public testing::Test {
 protected:
  Users() {
    world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
    url = world.http.url("/feed.xml");
    EXPECT_EQ(world.run({"add", url}).exit, 0);
    EXPECT_EQ(world.run({"channel", "add", "news"}).exit, 0);
    EXPECT_EQ(world.run({"channel", "feeds", "news", "--add", url}).exit, 0);
    EXPECT_EQ(world.run({"notify", "rules", "anna", "--feed", url}).exit, 0);
    EXPECT_EQ(world.run({"run", "--once"}).exit, 0);
    world.redis_text({"ACL", "LOG", "RESET"});
  }
  Finished as(const std::string& user, Arguments arguments) {
    arguments.insert(arguments.end(), {"--redis", world.redis.url_of(user)});
    return world.run(arguments);
  }
  /// Verbs that the reader and consumer users may run, too.
  std::vector<Arguments> for_readers() const {
    return {{"entries", url},
            {"entry", "Entry:1"},
            {"entry", "--feed", url, "--guid", "a"},
            {"notices"},
            {"notify", "list", "anna"},
            {"channel", "list"},
            {"channel", "feeds", "news"},
            {"channel", "timeline", "news"},
            {"channel", "unread-count"}};
  }

  World world;
  std::string url;
};

TEST_F(Users, AViewerMayRunEveryVerbThatReads) {
  for (const Arguments& verb : for_readers()) {
    const Finished done = as("feedmill_viewer", verb);
    EXPECT_EQ(done.exit, 0) << words_of(verb) << ": " << done.err;
    EXPECT_EQ(done.out, world.run(verb).out) << words_of(verb);
  }
  const std::vector<Arguments> more{{"list"},
                                    {"show", url},
                                    {"explain", url},
                                    {"stats"},
                                    {"export"},
                                    {"plan"},
                                    {"notify", "rules", "anna"},
                                    {"add", url, "--dry-run"}};
  for (const Arguments& verb : more) {
    const Finished done = as("feedmill_viewer", verb);
    EXPECT_EQ(done.exit, 0) << words_of(verb) << ": " << done.err;
    EXPECT_NE(done.out, "") << words_of(verb);
  }
  EXPECT_EQ(world.redis_text({"ACL", "LOG"}), "") << "nothing was refused";
  // A viewer sees the number of webhooks and subscribers, and nothing else of them.
  world.redis_text({"HSET", "stats:push_out:states", "webhook:active", "1"});
  EXPECT_NE(as("feedmill_viewer", {"stats", "--json"}).out.find("\"due\":null"), std::string::npos);
  EXPECT_NE(world.run({"stats", "--json"}).out.find("\"webhooks_active\":1"), std::string::npos);
}

TEST_F(Users, ReadersAndConsumersMayRunVerbsThatReadPublicKeys) {
  for (const char* const user : {"feedmill_reader", "feedmill_consumer"}) {
    for (const Arguments& verb : for_readers()) {
      const Finished done = as(user, verb);
      EXPECT_EQ(done.exit, 0) << words_of(verb) << ": " << done.err;
      EXPECT_EQ(done.out, world.run(verb).out) << words_of(verb);
    }
  }
  EXPECT_EQ(world.redis_text({"ACL", "LOG"}), "") << "nothing was refused";
  for (const Arguments& verb : std::vector<Arguments>{{"list"}, {"show", url}, {"explain", url}, {"stats"}}) {
    const Finished refused = as("feedmill_reader", verb);
    EXPECT_EQ(refused.exit, 78) << words_of(verb);
    EXPECT_NE(refused.err.find("feedmill_viewer"), std::string::npos) << refused.err;
  }
}

TEST_F(Users, ReadersMayFollowSignals) {
  for (const char* const user : {"feedmill_viewer", "feedmill_reader", "feedmill_consumer"}) {
    Program tail({"tail", "--from", "0", "--redis", world.redis.url_of(user)}, world.environment);
    EXPECT_TRUE(eventually([&] { return tail.out().find("post_created") != std::string::npos; })) << tail.err();
    tail.signal(SIGINT);
    EXPECT_EQ(tail.wait().exit, 130);
  }
}

TEST_F(Users, AViewerChangesNothing) {
  const std::string before = world.redis_text({"HGETALL", "state:feed:" + url});
  for (const Arguments& verb : std::vector<Arguments>{{"pause", url},
                                                      {"remove", url, "--yes"},
                                                      {"refresh", url},
                                                      {"notices", "--clear"},
                                                      {"channel", "add", "more"},
                                                      {"run", "--once"}}) {
    const Finished refused = as("feedmill_viewer", verb);
    EXPECT_EQ(refused.exit, 78) << words_of(verb) << ": " << refused.err;
    EXPECT_NE(refused.err.find("evalsha"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(world.redis_text({"HGETALL", "state:feed:" + url}), before);
}

TEST_F(Users, VerbsThatReadEveryKeyNameTheUserNeeded) {
  for (const Arguments& verb :
       std::vector<Arguments>{{"verify"}, {"verify", "--feed", url}, {"store", "export", "-"}}) {
    const Finished refused = as("feedmill", verb);
    EXPECT_EQ(refused.exit, 78) << words_of(verb);
    EXPECT_EQ(refused.out, "") << "nothing was begun";
    EXPECT_NE(refused.err.find("feedmill_admin"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("+scan +hscan +zscan"), std::string::npos) << refused.err;
    EXPECT_EQ(as("feedmill_admin", verb).exit, 0) << words_of(verb);
  }
}

/// A users file from before feeds waited in lines: the missing grants are reported at once, not when the first feed
/// waits.
TEST_F(Users, AViewerOfTheLastReleasesFileLearnsTheMissingGrants) {
  world.redis_text({"ACL", "SETUSER", "feedmill_viewer", "resetkeys", "%R~Entry:*", "%R~Feed:*", "%R~http*", "%R~feeds",
                    "%R~schedule", "%R~quarantine", "%R~stream:signals", "%R~channel*", "%R~zchannel:*",
                    "%R~list:notification:*", "%R~hash:notification:*", "%R~stats:*", "%R~state:*", "%R~deliver:*",
                    "%R~meta:store"});
  for (const Arguments& verb : std::vector<Arguments>{{"list"}, {"show", url}, {"explain", url}}) {
    const Finished refused = as("feedmill_viewer", verb);
    EXPECT_EQ(refused.exit, 78) << words_of(verb) << ": " << refused.err;
    EXPECT_NE(refused.err.find("grant %R~lines %R~line:* "), std::string::npos) << words_of(verb) << refused.err;
  }
  for (const Arguments& verb : for_readers())
    EXPECT_EQ(as("feedmill_viewer", verb).exit, 0) << words_of(verb) << ": what names no place in a line goes on";
  world.redis_text({"ACL", "SETUSER", "feedmill_viewer", "%R~lines", "%R~line:*"});
  EXPECT_EQ(as("feedmill_viewer", {"explain", url}).exit, 0);
}

/// With those grants, a viewer sees a waiting feed like any other.
TEST_F(Users, AViewerSeesTheFeedsWaitingInALine) {
  const std::string second = world.http.url("/second.xml");
  world.http.serve("/second.xml", {.body = rss({{"b", "Second"}})});
  ASSERT_EQ(world.run({"add", second}).exit, 0);
  world.redis_text({"HSET", "state:feed:" + second, "line", "127.0.0.1"});
  world.redis_text({"ZREM", "schedule", second});
  world.redis_text({"ZADD", "line:127.0.0.1", "1", second});
  world.redis_text({"ZADD", "lines", "9999999999999", "127.0.0.1"});
  for (const Arguments& verb : std::vector<Arguments>{{"list"}, {"show", second}, {"explain", second}}) {
    const Finished done = as("feedmill_viewer", verb);
    EXPECT_EQ(done.exit, 0) << words_of(verb) << ": " << done.err;
  }
  EXPECT_NE(as("feedmill_viewer", {"list"}).out.find("in line"), std::string::npos);
}

/// A viewer sees the subscription of a feed without its secrets.
TEST_F(Users, AFeedWithASubscriptionIsExplainedWithoutIt) {
  world.redis_text({"HSET", "state:feed:" + url, "push_state", "healthy", "push_hub", "https://hub.example/",
                    "push_token", "0123456789abcdef"});
  world.redis_text({"HSET", "websub:callback:0123456789abcdef", "secret", "s"});
  const Finished done = as("feedmill_viewer", {"explain", url});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_NE(done.out.find("https://hub.example/"), std::string::npos) << done.out;
}

}  // namespace
}  // namespace feedmill::test::users_test
