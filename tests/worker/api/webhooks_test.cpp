// Webhooks over HTTP (OPERATIONS B4, B6); openapi_test.cpp covers which calls each operation accepts and rejects.
#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "tests/support/http_server.hpp"
#include "tests/worker/api/served_api.hpp"
#include "worker/republish/webhook_message.hpp"

namespace feedmill::test::webhook_api_test {
namespace {

class WebhookApi : public testing::Test {
 protected:
  WebhookApi() : served(redis), store({.url = redis.url()}) { EXPECT_TRUE(store.open().has_value()); }

  boost::json::object add(const std::string& body) {
    const HttpAnswer answer = served.post("/webhooks", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return object_of(answer);
  }
  Subscriber stored(const std::string& id) {
    const auto found = Subscribers(store).get(id);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : Subscriber();
  }

  RedisServer redis;
  ServedApi served;
  Store store;
};

TEST_F(WebhookApi, CreatesOneWithAllThatIsSaid) {
  EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = "https://example.org/feed.xml"}}));
  const auto made = add(R"({"url":"HTTPS://Example.org/hook","name":"Search","feeds":["https://example.org/feed.xml"],
    "channels":["anna/news"],"types":["post_created"],"initial":true,"private":true,"at_once":4,"signature":"v1a"})");
  const Subscriber webhook = stored(std::string(made.at("id").as_string()));
  EXPECT_EQ(webhook.url, "https://example.org/hook");
  EXPECT_EQ(webhook.name, "Search");
  EXPECT_EQ(webhook.filter, (EventFilter{{"https://example.org/feed.xml"}, {"anna/news"}, {"post_created"}, true}));
  EXPECT_TRUE(webhook.with_private);
  EXPECT_EQ(webhook.at_once, 4U);
  EXPECT_EQ(made.at("signature").as_string(), "v1a");
  EXPECT_EQ(made.at("public_key").as_string(), public_key_of(webhook.secret));
  EXPECT_FALSE(made.contains("secret"));
}

TEST_F(WebhookApi, NotesWhichEventsAreNotDelivered) {
  const std::string body = R"({"url":"https://example.org/hook","feeds":["https://example.org/feed.xml"]})";
  EXPECT_EQ(outcome(served.post("/webhooks", body)), "404 no_such_feed");
  EXPECT_EQ(Subscribers(store).counts()->webhooks_active, 0U);
  EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = "https://example.org/feed.xml"}}));
  const auto made = add(body);
  EXPECT_NE(boost::json::serialize(made.at("notes")).find("no events of https://example.org/feed.xml"),
            std::string::npos);
  const std::string query = "?id=" + std::string(made.at("id").as_string());
  const HttpAnswer set =
      served.call({"PATCH", "/api/v1/webhook" + query, R"({"private":true,"channels":["anna/new"]})"});
  ASSERT_EQ(set.status, 200) << set.body;
  ASSERT_EQ(object_of(set).at("notes").as_array().size(), 1U) << set.body;
  EXPECT_NE(object_of(set).at("notes").at(0).as_string().find("no channel anna/new yet"), boost::json::string::npos);
  const HttpAnswer unknown =
      served.call({"PATCH", "/api/v1/webhook" + query, R"({"feeds":["https://example.org/none.xml"]})"});
  EXPECT_EQ(outcome(unknown), "404 no_such_feed");
}

TEST_F(WebhookApi, ShowsASecretWhenItIsMadeAndNeverAgain) {  // OPERATIONS B6
  const auto made = add(R"({"url":"https://example.org/hook?token=canary-in-url"})");
  const std::string id(made.at("id").as_string()), query = "?id=" + id;
  EXPECT_EQ(made.at("secret").as_string(), stored(id).secret);
  const auto rotated = object_of(served.post("/webhook/rotate" + query, ""));
  const Subscriber webhook = stored(id);
  EXPECT_EQ(rotated.at("secret").as_string(), webhook.secret);
  EXPECT_EQ(made.at("secret").as_string(), webhook.old_secret);
  const std::vector<HttpAnswer> answers{served.get("/webhooks"),
                                        served.get("/webhook" + query),
                                        served.call({"PATCH", "/api/v1/webhook" + query, R"({"name":"Two"})"}),
                                        served.post("/webhook/resume" + query, ""),
                                        served.get("/events"),
                                        served.get("/snapshot"),
                                        served.call({"DELETE", "/api/v1/webhook" + query})};
  for (const HttpAnswer& answer : answers) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    for (const std::string& canary : {webhook.secret, webhook.old_secret, std::string("canary")}) {
      EXPECT_EQ(answer.body.find(canary), std::string::npos) << answer.body;
    }
  }
  const std::string requests = redis_command(redis, {"XRANGE", "stream:requests", "-", "+"});
  EXPECT_EQ(requests.find("whsec_"), std::string::npos);
}

TEST_F(WebhookApi, ListsPageByPage) {
  std::set<std::string> made, listed;
  for (int i = 0; i < 5; ++i) made.insert(std::string(add(R"({"url":"https://example.org/"})").at("id").as_string()));
  std::string after;
  do {
    const auto page = object_of(served.get("/webhooks?limit=2" + (after.empty() ? "" : "&after=" + after)));
    for (const auto& row : page.at("webhooks").as_array()) listed.insert(std::string(row.at("id").as_string()));
    after = page.at("next").is_null() ? "" : std::string(page.at("next").as_string());
  } while (!after.empty());
  EXPECT_EQ(listed, made);
}

TEST_F(WebhookApi, TestsWhatTheReceiverAnswers) {  // OPERATIONS B5
  HttpServer receiver;
  receiver.serve("/hook", {.status = 200});
  const auto made = add(R"({"url":")" + receiver.url("/hook") + R"("})");
  const HttpAnswer answer = served.post("/webhook/test?id=" + std::string(made.at("id").as_string()), "");
  EXPECT_EQ(outcome(answer), "200 taken");
  ASSERT_EQ(receiver.requests().size(), 1U);
  const ServedRequest request = receiver.requests().front();
  EXPECT_EQ(object_of(answer).at("webhook_id").as_string(), request.header("webhook-id"));
  const WebhookMessage message{request.header("webhook-id"), std::stoll(request.header("webhook-timestamp")),
                               request.body};
  const std::vector<std::string> secrets{std::string(made.at("secret").as_string())};
  EXPECT_EQ(request.header("webhook-signature"), webhook_signature(message, secrets));
}

}  // namespace
}  // namespace feedmill::test::webhook_api_test
