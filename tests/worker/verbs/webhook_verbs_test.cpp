// Webhooks and topics from the command line, over a real Redis and a real receiver (OPERATIONS B4–B6).
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/worker/verbs/run_verb.hpp"
#include "worker/republish/webhook_message.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill::webhook_verbs_test {
namespace {

namespace json = boost::json;

using Words = std::vector<std::string>;

const std::string hook = "https://192.0.2.1/hook?token=canary-in-url", feed = "https://example.org/feed.xml";
const std::string nobody = "wh_" + std::string(26, 'a');

class WebhookVerbs : public testing::Test {
 protected:
  WebhookVerbs() : store({.url = server.url()}) {
    EXPECT_TRUE(store.open().has_value());
    std::ofstream(config)
        << "[egress]\nallow = [\"127.0.0.0/8:1024-65535\", \"192.0.2.0/24:80\", \"192.0.2.0/24:443\"]\n";
  }

  /// Runs the program, from words to exit code, and captures its output.
  VerbRun feedmill(Words words) {
    words.insert(words.end(), {"--config", config.string()});
    ::setenv("FEEDMILL_REDIS_URL", server.url().c_str(), 1);  // contains a password
    VerbRun outcome = run_verb(words);
    ::unsetenv("FEEDMILL_REDIS_URL");
    return outcome;
  }

  /// Adds a webhook and returns its id.
  std::string add(const Words& more = {}, const std::string& url = hook) {
    Words words{"webhook", "add", url, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    added = feedmill(words);
    EXPECT_EQ(added.exit, 0) << added.err;
    return std::string(added.row().at("id").as_string());
  }
  /// Adds a feed that may be republished.
  void know(const std::string& url = feed) {
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url, .settings = R"({"republish":"yes"})"}}));
  }
  Subscriber stored(const std::string& id) {
    const auto found = Subscribers(store).get(id);
    EXPECT_TRUE(found && *found) << id;
    return found && *found ? **found : Subscriber();
  }

  test::RedisServer server;
  Store store;
  const std::filesystem::path config = server.directory() / "feedmill.toml";
  VerbRun added;
};

TEST_F(WebhookVerbs, AddPrintsTheSecretOnceAndStoresTheOptions) {
  know();
  const std::string id = add({"--feed", "HTTPS://Example.org/feed.xml", "--channel", "anna/news", "--type",
                              "post_created", "--initial", "--private", "--name", "Search", "--at-once", "4"});
  EXPECT_EQ(added.row().at("result").as_string(), "added");
  const std::string secret(added.row().at("secret").as_string());
  EXPECT_NE(signature_by(secret, "sample"), "");
  EXPECT_NE(added.err.find("not be shown again"), std::string::npos);
  EXPECT_NE(added.err.find("no worker pushes out yet"), std::string::npos);
  const Subscriber webhook = stored(id);
  EXPECT_EQ(webhook.url, hook);
  EXPECT_EQ(webhook.secret, secret);
  EXPECT_EQ(webhook.name, "Search");
  EXPECT_EQ(webhook.filter, (EventFilter{{feed}, {"anna/news"}, {"post_created"}, true}));
  EXPECT_TRUE(webhook.with_private);
  EXPECT_EQ(webhook.at_once, 4U);
  EXPECT_EQ(webhook.state, Subscriber::State::active);
}

TEST_F(WebhookVerbs, AddTellsThePublicKeyOfOneThatSigns) {
  const std::string id = add({"--signature", "v1a"});
  EXPECT_FALSE(added.row().contains("secret"));
  EXPECT_EQ(added.row().at("public_key").as_string(), public_key_of(stored(id).secret));
  EXPECT_EQ(added.out.find(stored(id).secret), std::string::npos) << "the receiver has no need of it";
}

TEST_F(WebhookVerbs, AddSaysForPeopleWhatToDo) {
  const VerbRun outcome = feedmill({"webhook", "add", "http://192.0.2.1/hook"});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out.find("added           wh_"), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find("\nsecret          whsec_"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("the URL is not https"), std::string::npos) << outcome.err;
}

TEST_F(WebhookVerbs, AddRefusesWhatNothingWouldBeSentTo) {
  const VerbRun closed = feedmill({"webhook", "add", "http://10.0.0.1/hook?key=canary"});
  EXPECT_EQ(closed.exit, 65);
  EXPECT_NE(closed.err.find("egress.blocked"), std::string::npos) << closed.err;
  EXPECT_EQ(closed.err.find("canary"), std::string::npos);
  EXPECT_EQ(feedmill({"webhook", "add", "http://192.0.2.1:22/"}).exit, 65);
  for (const Words& wrong : std::vector<Words>{{"ftp://example.org/"},
                                               {"https://user:password@example.org/"},
                                               {hook, "--feed", "example"},
                                               {hook, "--type", "post_mended"},
                                               {hook, "--channel", std::string(1, '\x01')},
                                               {hook, "--channel", "\xff"},
                                               {hook, "--type", ""},
                                               {hook, "--at-once", "0"},
                                               {hook, "--at-once", "101"},
                                               {hook, "--name", std::string(201, 'a')}}) {
    Words words{"webhook", "add"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    const VerbRun outcome = feedmill(words);
    EXPECT_EQ(outcome.exit, 64) << outcome.err;
    EXPECT_EQ(outcome.err.find("password"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(Subscribers(store).counts()->webhooks_active, 0U);
}

TEST_F(WebhookVerbs, RejectUnknownFeedsAndNoteUndeliveredEvents) {
  const std::string secret_feed = "https://example.org/feed.xml?token=canary";
  const VerbRun unknown = feedmill({"webhook", "add", hook, "--feed", secret_feed});
  EXPECT_EQ(unknown.exit, 1);
  EXPECT_NE(unknown.err.find("no such feed:"), std::string::npos) << unknown.err;
  EXPECT_EQ(unknown.err.find("canary"), std::string::npos) << unknown.err;
  EXPECT_EQ(Subscribers(store).counts()->webhooks_active, 0U);
  know();
  EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = secret_feed}}));
  const std::string id = add({"--feed", feed});
  EXPECT_EQ(added.err.find("no events of"), std::string::npos) << added.err;
  const VerbRun closed = feedmill({"webhook", "set", id, "feed=" + secret_feed, "channel=nobody/yet"});
  EXPECT_EQ(closed.exit, 0) << closed.err;
  EXPECT_NE(closed.err.find("no events of https://example.org/feed.xml?token=<redacted> are sent without \"private\" "
                            "(--private, private=yes): "),
            std::string::npos)
      << closed.err;
  EXPECT_NE(closed.err.find("no channel nobody/yet yet"), std::string::npos) << closed.err;
  const VerbRun open = feedmill({"webhook", "set", id, "private=yes"});
  EXPECT_EQ(open.err.find("no events of https"), std::string::npos) << open.err;
  EXPECT_EQ(feedmill({"webhook", "set", id, "feed=https://example.org/none.xml"}).exit, 1);
  EXPECT_EQ(stored(id).filter.feeds, Words{secret_feed});
  for (const Words& words : std::vector<Words>{{"webhook", "show", id}, {"webhook", "show", id, "--json"}}) {
    const VerbRun shown = feedmill(words);
    EXPECT_NE(shown.out.find("https://example.org/feed.xml?token=<redacted>"), std::string::npos) << shown.out;
    EXPECT_EQ(shown.out.find("canary"), std::string::npos) << shown.out;
  }
}

TEST_F(WebhookVerbs, CountPrivateFeedsOfChannelsAndOfTheStore) {
  know();
  std::vector<NewFeed> never_fetched;
  for (int i = 0; i < 250; ++i) never_fetched.push_back({.feed_url = "https://example.org/" + std::to_string(i)});
  ASSERT_TRUE(Feeds(store).add(never_fetched, "anna/news"));
  ASSERT_TRUE(Channels(store).follow(std::vector{Membership{"anna/news", feed}}));
  add({"--channel", "anna/news"});
  EXPECT_NE(added.err.find("250 of 251 feeds in its channels are private: no events of them are sent without "
                           "\"private\" (--private, private=yes); https://example.org/0: it has not been fetched"),
            std::string::npos)
      << added.err;
  add();
  EXPECT_NE(added.err.find("250 of 251 feeds in the store are private"), std::string::npos) << added.err;
  for (const Words& quiet :
       std::vector<Words>{{"--channel", "anna/news", "--private"}, {"--private"}, {"--feed", feed}}) {
    add(quiet);
    EXPECT_EQ(added.err.find("private"), std::string::npos) << added.err;
  }
}

TEST_F(WebhookVerbs, ShowReportsWithheldEvents) {
  const std::string id = add();
  EXPECT_EQ(feedmill({"webhook", "show", id}).err, "");
  Subscribers subscribers(store);
  ASSERT_TRUE(*subscribers.lead("token", std::chrono::seconds(30)));
  ASSERT_TRUE(subscribers.begin_leading());
  const Subscribers::Concerned withheld{id, "", 3};
  ASSERT_TRUE(*subscribers.wake("token", std::span(&withheld, 1), "1-0"));
  EXPECT_FALSE(stored(id).due) << "there is nothing to send";
  const VerbRun shown = feedmill({"webhook", "show", id, "--json"});
  EXPECT_EQ(shown.row().at("withheld").to_number<int>(), 3);
  EXPECT_NE(shown.err.find("3 events of private feeds were withheld; to send later ones: feedmill webhook set " + id +
                           " private=yes"),
            std::string::npos)
      << shown.err;
  ASSERT_EQ(feedmill({"webhook", "set", id, "private=yes"}).exit, 0);
  EXPECT_EQ(feedmill({"webhook", "show", id}).err, "");
}

TEST_F(WebhookVerbs, SetReplacesOnlyTheNamedOptions) {
  know();
  const std::string id = add({"--feed", feed, "--type", "post_created", "--name", "Search"});
  EXPECT_EQ(feedmill({"webhook", "set", id, "type=post_deleted", "type=feed_gone", "feed=", "private=yes"}).out,
            "set " + id + "\n");
  Subscriber webhook = stored(id);
  EXPECT_EQ(webhook.filter, (EventFilter{{}, {}, {"post_deleted", "feed_gone"}, false}));
  EXPECT_EQ(webhook.name, "Search");
  EXPECT_TRUE(webhook.with_private);
  EXPECT_EQ(feedmill({"webhook", "set", id, "url=https://192.0.2.2/", "at_once=3", "private=no"}).exit, 0);
  webhook = stored(id);
  EXPECT_EQ(webhook.url, "https://192.0.2.2/");
  EXPECT_EQ(webhook.at_once, 3U);
  EXPECT_FALSE(webhook.with_private);
  EXPECT_EQ(feedmill({"webhook", "set", id, "url=http://10.0.0.1/"}).exit, 65);
  for (const char* wrong : {"nonsense=1", "canary", "private=perhaps", "type=nonsense", "at_once=many", "url="}) {
    const VerbRun outcome = feedmill({"webhook", "set", id, wrong});
    EXPECT_EQ(outcome.exit, 64) << wrong;
    EXPECT_EQ(outcome.err.find("redacted"), std::string::npos) << "what to write stands there: " << outcome.err;
  }
  EXPECT_EQ(feedmill({"webhook", "set", nobody, "name=x"}).exit, 1);
  EXPECT_EQ(stored(id).url, "https://192.0.2.2/");
}

TEST_F(WebhookVerbs, RotateLetsBothSecretsSignForAWhile) {  // OPERATIONS B6
  const std::string id = add();
  const std::string old_secret = stored(id).secret;
  const VerbRun rotated = feedmill({"webhook", "rotate", id, "--old-for", "2h", "--json"});
  EXPECT_EQ(rotated.exit, 0);
  const Subscriber webhook = stored(id);
  EXPECT_EQ(rotated.row().at("secret").as_string(), webhook.secret);
  EXPECT_EQ(webhook.old_secret, old_secret);
  const json::object shown = feedmill({"webhook", "show", id, "--json"}).row();
  EXPECT_TRUE(shown.at("old_until").is_string());
  EXPECT_EQ(rotated.err.find("no longer signs"), std::string::npos) << rotated.err;
  const VerbRun again = feedmill({"webhook", "rotate", id});
  EXPECT_NE(again.err.find("no longer signs"), std::string::npos) << again.err;
  EXPECT_EQ(stored(id).old_secret, webhook.secret);
  EXPECT_EQ(feedmill({"webhook", "rotate", id, "--old-for", "31d"}).exit, 64);
  EXPECT_EQ(feedmill({"webhook", "rotate", nobody}).exit, 1);
  const std::string signing = add({"--signature", "v1a"});
  EXPECT_TRUE(
      feedmill({"webhook", "rotate", signing, "--json"}).row().at("public_key").as_string().starts_with("whpk_"));
}

TEST_F(WebhookVerbs, NeverShowASecretAfterwards) {  // OPERATIONS B6
  const std::string id = add({"--name", "One"});
  feedmill({"webhook", "rotate", id});
  test::redis_command(server, {"HSET", "push_out:subscriber:" + id, "last_error", "no answer from " + hook});
  const Subscriber webhook = stored(id);
  for (const Words& words : std::vector<Words>{{"webhook", "list"},
                                               {"webhook", "list", "--json"},
                                               {"webhook", "show", id},
                                               {"webhook", "show", id, "--json"},
                                               {"webhook", "set", id, "name=Two", "--json"},
                                               {"webhook", "resume", id, "-v"},
                                               {"stats", "--json"},
                                               {"doctor"}}) {
    const VerbRun outcome = feedmill(words);
    for (const std::string& canary : {webhook.secret, webhook.old_secret, std::string("canary")}) {
      EXPECT_EQ((outcome.out + outcome.err).find(canary), std::string::npos) << words.back() << ": " << outcome.out;
    }
  }
  EXPECT_EQ(feedmill({"webhook", "show", id, "--json"}).row().at("url").as_string(),
            "https://192.0.2.1/hook?token=<redacted>");
}

TEST_F(WebhookVerbs, ListShowResumeAndRemove) {
  EXPECT_NE(feedmill({"webhook", "list"}).err.find("no webhooks yet"), std::string::npos);
  const std::string one = add({"--name", "One"}), two = add();
  EXPECT_EQ(feedmill({"webhook", "list", "--columns", "name", "--limit", "1", "--header"}).out.substr(0, 5), "NAME\n");
  const VerbRun listed = feedmill({"webhook", "list"});
  EXPECT_NE(listed.out.find(one), std::string::npos);
  EXPECT_NE(listed.out.find(two), std::string::npos);
  EXPECT_EQ(feedmill({"webhook", "show", one, "--json"}).row().at("name").as_string(), "One");
  EXPECT_NE(feedmill({"webhook", "show", one}).out.find("private         no\n"), std::string::npos);
  EXPECT_EQ(feedmill({"webhook", "resume", one}).out, "resumed " + one + "\n");
  EXPECT_EQ(feedmill({"webhook", "remove", one}).exit, 64) << "no terminal to confirm on";
  EXPECT_EQ(feedmill({"webhook", "remove", one, "--yes"}).out, "removed " + one + "\n");
  for (const Words& words : std::vector<Words>{{"webhook", "show", one},
                                               {"webhook", "resume", one},
                                               {"webhook", "remove", one, "--yes"},
                                               {"webhook", "test", one}}) {
    const VerbRun outcome = feedmill(words);
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_EQ(outcome.err, "feedmill: webhook: no such webhook: " + one + "\n");
  }
  EXPECT_EQ(feedmill({"webhook", "show", "hub_" + std::string(26, 'a')}).exit, 64) << "it is none of theirs";
}

TEST_F(WebhookVerbs, TestSendsASignedSample) {  // OPERATIONS B5
  test::HttpServer receiver;
  receiver.serve("/hook", test::Response{.status = 204});
  receiver.serve("/gone", test::Response{.status = 410});
  receiver.serve("/away", test::Response{.status = 302, .headers = {{"Location", receiver.url("/hook")}}});
  const std::string id = add({}, receiver.url("/hook"));
  feedmill({"webhook", "rotate", id});
  const VerbRun tested = feedmill({"webhook", "test", id, "--json"});
  EXPECT_EQ(tested.exit, 0) << tested.out << tested.err;
  EXPECT_EQ(tested.row().at("status").as_int64(), 204);
  ASSERT_EQ(receiver.requests().size(), 1U);
  const test::ServedRequest request = receiver.requests().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.header("webhook-id"), tested.row().at("webhook_id").as_string());
  const WebhookMessage message{request.header("webhook-id"), std::stoll(request.header("webhook-timestamp")),
                               request.body};
  const Subscriber webhook = stored(id);
  const std::vector<std::string> secrets{webhook.secret, webhook.old_secret};
  EXPECT_EQ(request.header("webhook-signature"), webhook_signature(message, secrets));
  EXPECT_TRUE(json::parse(request.body).as_object().at("data").as_object().at("test").as_bool());

  feedmill({"webhook", "set", id, "url=" + receiver.url("/gone")});
  const VerbRun gone = feedmill({"webhook", "test", id});
  EXPECT_EQ(gone.exit, 1);
  EXPECT_EQ(gone.out.find("not taken       " + id + "\nstatus          410\n"), 0U) << gone.out;
  feedmill({"webhook", "set", id, "url=" + receiver.url("/away")});
  EXPECT_EQ(feedmill({"webhook", "test", id}).exit, 1);
  EXPECT_EQ(receiver.count("/hook"), 1U) << "redirects are failures";
}

TEST_F(WebhookVerbs, TestWaitsForTheConfiguredTimeout) {  // OPERATIONS B5
  test::HttpServer receiver;
  receiver.serve("/hook", test::Response{.silent = true, .end = test::Response::End::hang});
  std::ofstream(config, std::ios::app) << "[push_out]\ntimeout = \"1s\"\n";
  const VerbRun tested = feedmill({"webhook", "test", add({}, receiver.url("/hook")), "--json"});
  EXPECT_EQ(tested.exit, 1);
  EXPECT_EQ(tested.row().at("status"), nullptr);
  EXPECT_GE(tested.row().at("took_ms").as_int64(), 900);
  EXPECT_LT(tested.row().at("took_ms").as_int64(), 14'000) << "not as long as without a word";
}

TEST_F(WebhookVerbs, TestObeysTheEgressPolicy) {  // OPERATIONS B5
  test::HttpServer receiver;
  const std::string id = add({}, receiver.url("/hook"));
  std::ofstream(config) << "";  // the new configuration no longer allows the address
  const VerbRun tested = feedmill({"webhook", "test", id, "--json"});
  EXPECT_EQ(tested.exit, 1);
  EXPECT_TRUE(tested.row().at("trouble").as_string().starts_with("egress.")) << tested.out;
  EXPECT_EQ(receiver.connections(), 0U);
}

class TopicVerbs : public WebhookVerbs {
 protected:
  TopicVerbs() {
    EXPECT_EQ(feedmill({"import", list()}).exit, 0);
    EXPECT_EQ(feedmill({"set", feed, "republish=yes"}).exit, 0);
  }

  /// A list that puts the feed into a channel: an import contacts no address.
  std::string list() const {
    const std::string path = (server.directory() / "list.opml").string();
    std::ofstream(path) << R"(<opml version="2.0"><body><outline text="anna/news"><outline type="rss" xmlUrl=")" << feed
                        << R"("/></outline></body></opml>)";
    return path;
  }
};

TEST_F(TopicVerbs, ShareExistingFeedsAndChannelsUnderOneUrl) {  // OPERATIONS B4
  std::ofstream(config) << "[push_out]\npublic_url = \"https://push.example.org/feedmill\"\n";
  const VerbRun one = feedmill({"topic", "add", "HTTPS://Example.org/feed.xml", "--json"});
  EXPECT_EQ(one.exit, 0) << one.err;
  EXPECT_EQ(one.row().at("result").as_string(), "added");
  EXPECT_EQ(one.row().at("url").as_string(), feed);
  const std::string atom(one.row().at("atom").as_string());
  EXPECT_TRUE(atom.starts_with("https://push.example.org/feedmill/t/") && atom.ends_with(".atom")) << atom;
  const std::string token = atom.substr(atom.size() - 26 - 5, 26);
  EXPECT_EQ(one.row().at("json").as_string(), "https://push.example.org/feedmill/t/" + token + ".json");
  EXPECT_EQ(one.row().at("hub").as_string(), "https://push.example.org/feedmill/hub");
  EXPECT_EQ(one.row().at("events").as_string(), "https://push.example.org/feedmill/events?topic=" + token);
  const VerbRun again = feedmill({"topic", "add", feed, "--json"});
  EXPECT_EQ(again.row().at("result").as_string(), "present");
  EXPECT_EQ(again.row().at("atom").as_string(), atom);
  const VerbRun channel = feedmill({"topic", "add", "--channel", "anna/news"});
  EXPECT_EQ(channel.exit, 0);
  EXPECT_EQ(channel.out.find("added           anna/news\natom            https://push.example.org/"), 0U)
      << channel.out;
  const VerbRun listed = feedmill({"topic", "list"});
  EXPECT_NE(listed.out.find(feed + "  "), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("  " + atom + "\n"), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("anna/news  "), std::string::npos) << listed.out;

  feedmill({"set", feed, "republish=no"});
  const VerbRun kept = feedmill({"topic", "add", feed});
  EXPECT_EQ(kept.exit, 1);
  EXPECT_NE(kept.err.find("is not shared: "), std::string::npos) << kept.err;
  EXPECT_EQ(feedmill({"topic", "add", "https://example.org/none.xml"}).exit, 1);
  EXPECT_EQ(feedmill({"topic", "add", "--channel", "nobody"}).exit, 1);
  EXPECT_EQ(feedmill({"topic", "add"}).exit, 64);
  EXPECT_EQ(feedmill({"topic", "add", feed, "--channel", "anna/news"}).exit, 64);
}

TEST_F(TopicVerbs, RemoveDeniesItsSubscribers) {  // OPERATIONS B4
  EXPECT_NE(feedmill({"topic", "add", feed}).err.find("push_out.public_url"), std::string::npos);
  feedmill({"topic", "add", "--channel", "anna/news"});
  Subscribers subscribers(store);
  Subscriber asking;
  asking.kind = Subscriber::Kind::hub;
  asking.state = Subscriber::State::pending;
  asking.topic = {TopicKind::feed, feed};
  asking.topic_url = "https://push.example.org/t/x.atom";
  asking.intent = {"subscribe", "canary-secret", std::chrono::hours(1), "", 0};
  for (int i = 0; i < 201; ++i) {  // more than one batch of denials
    asking.url = "https://192.0.2.1/" + std::to_string(i) + "?token=canary";
    ASSERT_TRUE(*subscribers.ask(asking));
  }
  const VerbRun listed = feedmill({"topic", "subscribers", feed, "--json"});
  EXPECT_EQ(std::ranges::count(listed.out, '\n'), 201);
  EXPECT_EQ(listed.row().at("callback").as_string().subview(0, 18), "https://192.0.2.1/");
  EXPECT_EQ(listed.out.find("canary"), std::string::npos);
  EXPECT_EQ(feedmill({"topic", "subscribers", "--channel", "anna/news"}).out, "");
  EXPECT_EQ(feedmill({"topic", "remove", feed}).exit, 64) << "no terminal to confirm on";
  EXPECT_EQ(feedmill({"topic", "remove", feed, "--yes"}).out, "removed " + feed + "\n");
  const auto denied = subscribers.list(Subscriber::Kind::hub, "", 1000);
  ASSERT_TRUE(denied && denied->size() == 201U);
  for (const Subscriber& one : *denied) EXPECT_EQ(one.intent.mode, "denied");
  EXPECT_EQ(feedmill({"topic", "remove", feed, "--yes"}).exit, 1);
  EXPECT_EQ(feedmill({"topic", "list"}).out.find(feed), std::string::npos);
}

}  // namespace
}  // namespace feedmill::webhook_verbs_test
