// What is set and told of a webhook (OPERATIONS B3, B4, B6).
#include "worker/endpoints/webhooks.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "worker/webhooks/secret.hpp"

namespace feedmill::webhook_settings_test {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

/// "" when all was read and put into `webhook`.
std::string set(const std::vector<std::string>& assignments, Subscriber& webhook) {
  WebhookSettings settings;
  for (const std::string& assignment : assignments) {
    std::string wrong = change_webhook(settings, assignment);
    if (!wrong.empty()) return wrong;
  }
  return set_webhook(settings, webhook);
}

std::string set_json(const std::string& object, Subscriber& webhook) {
  WebhookSettings settings;
  bool unknown = false;
  std::string wrong = read_webhook(json::parse(object).as_object(), settings, unknown);
  if (unknown) return "unknown";
  return wrong.empty() ? set_webhook(settings, webhook) : wrong;
}

TEST(WebhookSettings, AreTheSameAsWordsAndAsJson) {
  Subscriber words, object;
  EXPECT_EQ(set({"url=HTTPS://Example.org/hook", "name=One", "feed=http://example.org", "feed=http://example.org/",
                 "channel=anna/news", "type=post_created", "type=feed_gone", "initial=yes", "private=yes", "at_once=5"},
                words),
            "");
  EXPECT_EQ(set_json(R"({"url":"https://example.org/hook","name":"One","feeds":["http://example.org/"],
    "channels":["anna/news"],"types":["post_created","feed_gone"],"initial":true,"private":true,"at_once":5})",
                     object),
            "");
  EXPECT_EQ(words.url, "https://example.org/hook");
  EXPECT_EQ(words.filter, object.filter);
  EXPECT_EQ(words.filter.feeds, (std::vector<std::string>{"http://example.org/"}));
  EXPECT_EQ(webhook_json(words, 1ms), webhook_json(object, 1ms));
  EXPECT_EQ(filter_words(words.filter), "post_created feed_gone of 1 feed and 1 channel, including first imports");
  EXPECT_EQ(set({"feed=", "channel=", "type=", "initial=no", "name="}, words), "");
  EXPECT_EQ(filter_words(words.filter), "all events");
  EXPECT_EQ(words.url, "https://example.org/hook") << "what is not named stays";
}

TEST(WebhookSettings, AreBounded) {
  for (const char* wrong : {"at_once=0", "at_once=101", "at_once=-1", "at_once=x", "initial=true",
                            "private=", "url=", "url=ftp://x", "url=https://user:canary@example.org/", "feed=x",
                            "type=request_done", "canary", "canary=1", "=1", "channel=\x01"}) {
    Subscriber webhook;
    const std::string said = set({std::string(wrong)}, webhook);
    EXPECT_NE(said, "") << wrong;
    EXPECT_EQ(said.find("user:canary"), std::string::npos) << said;
  }
  for (const char* wrong : {R"({"at_once":0})", R"({"at_once":1e3})", R"({"at_once":"2"})", R"({"initial":"yes"})",
                            R"({"url":null})", R"({"feeds":"x"})", R"({"feeds":[1]})", R"({"types":{}})"}) {
    Subscriber webhook;
    EXPECT_NE(set_json(wrong, webhook), "") << wrong;
    EXPECT_NE(set_json(wrong, webhook), "unknown") << wrong;
  }
  for (const char* stranger : {R"({"secret":"whsec_x"})", R"({"id":"wh_x"})", R"({"state":"active"})"}) {
    Subscriber webhook;
    EXPECT_EQ(set_json(stranger, webhook), "unknown") << stranger;
  }
  Subscriber webhook;
  std::string many = R"({"feeds":["http://example.org/0")";
  for (int i = 1; i <= 1000; ++i) many += ",\"http://example.org/" + std::to_string(i) + "\"";
  EXPECT_NE(set_json(many + "]}", webhook), "") << "1001 feeds";
}

TEST(WebhookSettings, AreToldWithoutSecrets) {
  Subscriber webhook;
  webhook.id = "wh_" + std::string(26, 'a');
  webhook.url = "https://example.org/hook?token=canary";
  webhook.last_error = "https://example.org/hook?token=canary does not answer";
  webhook.secret = new_signing_key();
  webhook.old_secret = new_shared_secret();
  webhook.old_until = 1000ms;
  std::string told = json::serialize(webhook_json(webhook, 1ms));
  for (const auto& [name, value] : webhook_lines(webhook, 1ms)) told.append(name).append(value);
  for (const std::string& canary : {std::string("canary"), webhook.secret, webhook.old_secret}) {
    EXPECT_EQ(told.find(canary), std::string::npos) << told;
  }
  EXPECT_NE(told.find(public_key_of(webhook.secret)), std::string::npos);
  EXPECT_EQ(receiver_key(webhook.secret).value, public_key_of(webhook.secret));
}

TEST(WebhookSettings, LetTheOldSecretSignUntilItsTime) {
  Subscriber webhook;
  webhook.secret = "new";
  webhook.old_secret = "old";
  webhook.old_until = 1000ms;
  EXPECT_EQ(secrets_in_use(webhook, 999ms), (std::vector<std::string>{"new", "old"}));
  EXPECT_EQ(secrets_in_use(webhook, 1000ms), (std::vector<std::string>{"new"}));
}

TEST(WebhookSettings, KnowAnIdOfAWebhook) {
  EXPECT_TRUE(is_webhook_id("wh_" + std::string(26, 'a')));
  for (const std::string& id : {std::string(), std::string("wh_"), "hub_" + std::string(26, 'a'),
                                "wh_" + std::string(25, 'a') + "*", "wh_" + std::string(27, 'a')}) {
    EXPECT_FALSE(is_webhook_id(id)) << id;
  }
}

}  // namespace
}  // namespace feedmill::webhook_settings_test
