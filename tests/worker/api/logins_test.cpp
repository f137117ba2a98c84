// Logins of feeds over HTTP: what one token can do with those of another (SECURITY K7).
#include "storage/feeds/logins.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/api/served_api.hpp"

namespace feedmill::test::login_api_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string other_token = "other-token-0123456789";
const std::string feed = "https://paper.example/feed.xml", query = "/feed?url=" + percent_encoded(feed);

class LoginApi : public testing::Test {
 protected:
  LoginApi() : served(redis), store({.url = redis.url()}) {
    EXPECT_TRUE(store.open());
    Config config = *load_config(ConfigSources());
    config.api_tokens["app"] = {.file = {}, .asks = true, .token = std::string(asking_token)};
    config.api_tokens["other"] = {.file = {}, .asks = true, .token = other_token};
    config.api_tokens["reader"] = {.file = {}, .asks = false, .token = std::string(reading_token)};
    served.set_config(config);
  }

  HttpAnswer call(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& token = std::string(asking_token)) {
    return served.call({method, "/api/v1" + path, body, {}, token});
  }
  HttpAnswer put(const std::string& name, const std::string& origin, const std::string& secret,
                 const std::string& token = std::string(asking_token)) {
    return call("PUT", "/logins/" + name, R"({"origin":")" + origin + R"(","user":"me","secret":")" + secret + "\"}",
                token);
  }
  FeedLogin stored(const std::string& name) {
    const auto found = Logins(store).find(name);
    EXPECT_TRUE(found && *found) << name;
    return found && *found ? **found : FeedLogin();
  }
  std::string settings() { return redis_command(redis, {"HGET", "state:feed:" + feed, "settings"}); }
  /// Changes the feed's `auth` by a call that queues. Returns its final outcome.
  std::string queued(const std::string& auth, const std::string& ref, const std::string& token) {
    served.resting = true;
    redis_command(redis, {"XADD", "stream:requests", "*", "op", "x"});
    ApiTalk said{"PATCH", "/api/v1" + query, R"({"settings":{"auth":")" + auth + "\"}}", {}, token};
    said.headers = {{"Idempotency-Key", ref}, {"Prefer", "respond-async"}};
    EXPECT_EQ(outcome(served.call(said)), "202 waiting");
    served.resting = false;
    std::string became;
    for (int i = 0; i < 1000; ++i) {
      became = outcome(call("GET", "/requests/" + ref, "", token));
      if (became != "404 no_such_request" && became != "200 waiting") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return became;
  }

  RedisServer redis;
  ServedApi served;
  Store store;
};

TEST_F(LoginApi, NoTokenReachesALoginOfAnother) {
  const HttpAnswer made = put("paper", "HTTPS://Paper.example:443", "s3cret");
  ASSERT_EQ(outcome(made), "200 set") << made.body;
  EXPECT_EQ(object_of(made).at("name"), "app/paper");
  EXPECT_EQ(object_of(made).at("origin"), "https://paper.example");
  EXPECT_EQ(object_of(made).at("by"), "app");

  // Under the same name, each has its own.
  EXPECT_EQ(outcome(call("DELETE", "/logins/paper", "", other_token)), "404 no_such_login");
  EXPECT_EQ(outcome(call("DELETE", "/logins/app%2Fpaper", "", other_token)), "404 no_such_resource");
  EXPECT_EQ(object_of(put("paper", "https://evil.example", "x", other_token)).at("name"), "other/paper");
  EXPECT_EQ(put("app%2Fpaper", "https://evil.example", "x", other_token).status, 404);
  EXPECT_EQ(stored("app/paper").origin, "https://paper.example");
  EXPECT_EQ(stored("app/paper").header_line, "Authorization: Basic bWU6czNjcmV0");
  const auto rows = object_of(call("GET", "/logins", "", other_token)).at("logins").as_array();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("name"), "other/paper");
  EXPECT_EQ(object_of(call("GET", "/logins", "", std::string(reading_token))).at("logins").as_array().size(), 0U);
  EXPECT_EQ(outcome(put("paper", "https://paper.example", "x", std::string(reading_token))), "403 read_only");

  // Feeds that name it: on a host of its own, on the login's, and one that its owner has added.
  for (const std::string& url : {std::string("https://evil.example/feed.xml"), feed}) {
    const std::string body = R"({"url":")" + url + R"(","settings":{"auth":"app/paper"}})";
    const HttpAnswer refused = call("POST", "/feeds", body, other_token);
    EXPECT_EQ(outcome(refused), "422 bad_value") << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("only the API token app may use its login app/paper"));
  }
  EXPECT_EQ(outcome(call("POST", "/feeds", R"({"url":")" + feed + "\"}")), "201 added");
  const std::string uses = R"({"settings":{"auth":"app/paper"}})";
  EXPECT_EQ(outcome(call("PATCH", query, uses, other_token)), "422 bad_value");
  EXPECT_EQ(settings(), "(nil)");
  EXPECT_EQ(outcome(call("PATCH", query, R"({"settings":{"auth":"app/none"}})")), "422 bad_value") << "not stored";
  EXPECT_EQ(outcome(call("PATCH", query, uses)), "200 set");
  EXPECT_EQ(settings(), R"({"auth":"app/paper"})");
  const std::string move = "/feed/move?url=" + percent_encoded(feed);
  const std::string elsewhere = R"({"to":"https://paper.example/other"})";
  EXPECT_EQ(outcome(call("POST", move, elsewhere, other_token)), "422 bad_value");
  EXPECT_EQ(outcome(call("POST", move, elsewhere)), "200 moved");
  EXPECT_EQ(outcome(call("POST", move, R"({"undo":true})", other_token)), "422 bad_value");
}

/// A worker executes them. It trusts the name of their token only because the API has vouched for it.
TEST_F(LoginApi, QueuedCallsUseOnlyTheirOwnLogins) {
  EXPECT_EQ(outcome(put("paper", "https://paper.example", "s3cret")), "200 set");
  EXPECT_EQ(outcome(call("POST", "/feeds", R"({"url":")" + feed + "\"}")), "201 added");
  EXPECT_EQ(queued("app/paper", "r-1", other_token), "200 bad_value");
  EXPECT_EQ(settings(), "(nil)");
  EXPECT_EQ(queued("app/paper", "r-2", std::string(asking_token)), "200 set");
  EXPECT_EQ(settings(), R"({"auth":"app/paper"})");
}

TEST_F(LoginApi, ShowsNoSecret) {
  const std::string uses = R"({"url":")" + feed + R"(","settings":{"auth":"app/paper"}})";
  const std::vector<HttpAnswer> good{put("paper", "http://paper.example", "c4nary-one"),
                                     put("paper", "http://paper.example", "c4nary-two"),
                                     call("POST", "/feeds", uses),
                                     call("GET", "/logins"),
                                     call("GET", query),
                                     call("GET", "/feed/explain?url=" + percent_encoded(feed)),
                                     call("GET", "/events"),
                                     call("GET", "/snapshot"),
                                     call("GET", "/export"),
                                     call("DELETE", "/logins/paper")};
  for (const HttpAnswer& answer : good) EXPECT_LT(answer.status, 300) << answer.body;
  EXPECT_THAT(good[0].body, HasSubstr("not https: the secret is sent in clear text"));
  const std::vector<HttpAnswer> bad{
      put("paper", "https://paper.example/path", "c4nary"),
      put("a%20b", "https://paper.example", "c4nary"),
      put("paper", "https://paper.example", R"(c4nary\nc4nary)"),
      put("paper", "https://paper.example", "c4nary" + std::string(4096, 'x')),
      call("PUT", "/logins/paper", R"({"origin":"https://paper.example","header":"X-Key: c4nary","secret":"c4nary"})"),
      call("PUT", "/logins/paper", R"({"origin":"https://paper.example","header":"Host","secret":"c4nary"})"),
      call("PUT", "/logins/paper", R"({"origin":"https://paper.example","user":"a:b","secret":"c4nary"})"),
      call("PUT", "/logins/paper", R"({"origin":"https://me:c4nary@paper.example","user":"a","secret":"c4nary"})"),
      call("PUT", "/logins/paper", R"({"origin":"https://paper.example","user":"a","header":"b","secret":"c4nary"})"),
      call("PUT", "/logins/paper", R"({"origin":"https://paper.example","secret":"c4nary"})")};
  for (const HttpAnswer& answer : bad) EXPECT_EQ(answer.status, 422) << answer.body;
  std::string seen = redis_command(redis, {"XRANGE", "stream:requests", "-", "+"}) +
                     redis_command(redis, {"XRANGE", "stream:signals", "-", "+"}) +
                     redis_command(redis, {"HGETALL", "state:feed:" + feed});
  for (const auto& answers : {good, bad}) {
    for (const HttpAnswer& answer : answers) seen += answer.body;
  }
  EXPECT_THAT(seen, HasSubstr("app/paper"));
  EXPECT_THAT(seen, Not(HasSubstr("c4nary")));
  EXPECT_THAT(seen, Not(HasSubstr("bWU6YzRuYXJ5")));  // in base64
}

}  // namespace
}  // namespace feedmill::test::login_api_test
