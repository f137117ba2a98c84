// Pushing out with whole programs: webhooks, the hub, and two chained feedmills (WEBSUB §10, OPERATIONS B1, B4–B6).
#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/events/event_stream.hpp"
#include "storage/queues/subscribers.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/http_ask.hpp"
#include "worker/republish/webhook_message.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill::test::push_out_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

/// A store with a worker that pushes out. Its feeds are on this machine; their settings allow republishing.
class OutsideWorld : public World {
 public:
  OutsideWorld() : port(free_port()), public_url("http://127.0.0.1:" + std::to_string(port)) {
    environment["FEEDMILL_PUSH_OUT_LISTEN"] = "127.0.0.1:" + std::to_string(port);
    environment["FEEDMILL_PUSH_OUT_PUBLIC_URL"] = public_url;
    environment["FEEDMILL_SCHEDULE_FLOOR"] = environment["FEEDMILL_SCHEDULE_CEILING"] = "1h";
  }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "--push-out", "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    worker = std::make_unique<Program>(arguments, environment);
    EXPECT_TRUE(eventually([&] { return redis_text({"EXISTS", "lock:push_out"}) == "1" || worker->ended(); }));
    EXPECT_FALSE(worker->ended()) << worker->err();
  }

  /// Adds a feed that may be republished, and fetches it once.
  std::string add(const std::string& path, const std::vector<std::pair<std::string, std::string>>& posts) {
    publish(path, posts);
    const std::string url = http.url(path);
    EXPECT_EQ(run({"add", url}).exit, 0);
    EXPECT_EQ(run({"set", url, "republish=yes"}).exit, 0);
    EXPECT_EQ(run({"refresh", url, "--ignore-floor"}).exit, 0);
    return url;
  }
  void publish(const std::string& path, const std::vector<std::pair<std::string, std::string>>& posts) {
    http.serve(path, Response{.headers = {{"Content-Type", "application/rss+xml"}}, .body = rss(posts)});
  }
  void refresh(const std::string& url) const { EXPECT_EQ(run({"refresh", url, "--ignore-floor"}).exit, 0); }

  json::object asked(const std::vector<std::string>& arguments) const {
    const Finished done = run(arguments);
    EXPECT_EQ(done.exit, 0) << done.err << done.out;
    const auto line = done.out.substr(0, done.out.find('\n'));
    return json::parse(line.empty() ? "{}" : line).as_object();
  }
  /// Makes every waiting delivery due now.
  void hurry() const {
    redis_text({"EVAL",
                "for _, id in ipairs(redis.call('ZRANGE', 'push_out:due', 0, -1)) do "
                "if not redis.call('HGET', 'push_out:subscriber:' .. id, 'claim') then "
                "redis.call('ZADD', 'push_out:due', 1, id) end end",
                "0"});
  }

  const std::uint16_t port;
  const std::string public_url;
  std::unique_ptr<Program> worker;
};

/// A receiver on its own server.
class Receiver {
 public:
  Receiver() {
    server.serve_rest([this](const ServedRequest& request) { return answer(request); });
  }
  std::string url() const { return server.url("/hook"); }
  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const ServedRequest& request : server.requests()) all.push_back(request.header("webhook-id"));
    return all;
  }
  bool has(std::size_t count) const {
    return eventually([&] { return server.requests().size() >= count; });
  }

  std::atomic<int> status = 200;
  HttpServer server;

 private:
  Response answer(const ServedRequest&) const { return Response{.status = status}; }
};

std::string title_of(const ServedRequest& request) {
  return std::string(json::parse(request.body).at("data").at("data").at("title").as_string());
}

class PushingOut : public testing::Test {
 protected:
  OutsideWorld world;
  Receiver receiver;

  std::string add_webhook(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"webhook", "add", receiver.url(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const json::object row = world.asked(arguments);
    secret = std::string(row.at("secret").as_string());
    return std::string(row.at("id").as_string());
  }
  std::string state(const std::string& id) {
    const auto known = Subscribers(world.store).get(id);
    return known && *known ? std::string(to_string((*known)->state)) : "";
  }

  std::string secret;
};

TEST_F(PushingOut, AWebhookGetsEachPostOnceSigned) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start();
  const std::string id = add_webhook({"--type", "post_created"});
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(1));
  const ServedRequest request = receiver.server.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(title_of(request), "second");
  EXPECT_EQ(json::parse(request.body).at("type").as_string(), "post_created");
  EXPECT_EQ(request.header("webhook-id"), json::parse(request.body).at("data").at("seq").as_string());
  const WebhookMessage message{request.header("webhook-id"), std::stoll(request.header("webhook-timestamp")),
                               request.body};
  EXPECT_EQ(request.header("webhook-signature"), webhook_signature(message, std::vector{secret}));
  // After a rotation, both secrets sign.
  const json::object rotated = world.asked({"webhook", "rotate", id, "--json"});
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(2));
  const std::string signatures = receiver.server.requests().at(1).header("webhook-signature");
  EXPECT_EQ(std::ranges::count(signatures, ' '), 1) << signatures;
  EXPECT_EQ(world.run({"webhook", "remove", id, "--yes"}).exit, 0);
  EXPECT_EQ(world.run({"webhook", "show", id}).exit, 1);
}

// A webhook starts at the end of the stream at the time it is added, even while no worker pushes out.
TEST_F(PushingOut, DeliversEventsFromBeforeTheFirstWorker) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  add_webhook({"--type", "post_created"});
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  world.start();
  ASSERT_TRUE(receiver.has(1));
  EXPECT_EQ(title_of(receiver.server.requests().at(0)), "second");
}

// Pushing out on a separate machine (DESIGN §1).
TEST_F(PushingOut, RunsByItself) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start({"--no-ingest", "--no-deliver"});
  add_webhook({"--type", "post_created"});
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(1));
  EXPECT_EQ(title_of(receiver.server.requests().at(0)), "second");
  world.worker->signal(SIGTERM);
  const Finished ended = world.worker->wait();
  EXPECT_EQ(ended.exit, 0) << ended.err;
}

TEST_F(PushingOut, RetriesFailuresWithTheSameId) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start();
  const std::string id = add_webhook();
  receiver.status = 503;
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(1));
  ASSERT_TRUE(eventually([&] { return Subscribers(world.store).get(id)->value().failures == 1; }));
  const Subscriber known = Subscribers(world.store).get(id)->value();
  EXPECT_THAT(known.last_error, HasSubstr("503"));
  ASSERT_TRUE(known.due);
  EXPECT_GE(*known.due - known.failing_since, Milliseconds(50'000)) << "a minute later";
  receiver.status = 200;
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(url);
  world.hurry();
  ASSERT_TRUE(receiver.has(3));
  const auto ids = receiver.ids();
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(title_of(receiver.server.requests().at(2)), "third");
  EXPECT_TRUE(eventually([&] { return Subscribers(world.store).get(id)->value().failures == 0; }));
}

TEST_F(PushingOut, StopsDeliveringToAReceiverThatAnswersGone) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start();
  const std::string id = add_webhook();
  receiver.status = 410;
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  EXPECT_TRUE(eventually([&] { return state(id).empty(); }));
  EXPECT_THAT(world.run({"notices"}).out, HasSubstr("410"));
}

TEST_F(PushingOut, SuspendsAFailingWebhookAndContinuesWhenResumed) {
  world.environment["FEEDMILL_PUSH_OUT_GIVE_UP"] = "1min";
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start();
  const std::string id = add_webhook();
  receiver.status = 302;  // a redirect is a failure
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(eventually([&] { return Subscribers(world.store).get(id)->value().failures == 1; }));
  world.redis_text({"HSET", "push_out:subscriber:" + id, "failing_since", "1"});
  world.hurry();
  ASSERT_TRUE(eventually([&] { return state(id) == "suspended"; }));
  EXPECT_THAT(world.run({"notices"}).out, HasSubstr("webhook resume " + id));
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(url);
  receiver.status = 200;
  const std::size_t before = receiver.server.requests().size();
  EXPECT_EQ(world.run({"webhook", "resume", id}).exit, 0);
  ASSERT_TRUE(receiver.has(before + 2));
  EXPECT_EQ(title_of(receiver.server.requests().at(before)), "second");
  EXPECT_EQ(title_of(receiver.server.requests().at(before + 1)), "third");
}

TEST_F(PushingOut, ReportsMissedEventsToTheReceiver) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  const std::string id = add_webhook();
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  world.redis_text({"XTRIM", "stream:signals", "MAXLEN", "0"});
  world.redis_text({"ZADD", "push_out:due", "1", id});  // before it becomes due by itself and is served twice
  world.start();
  ASSERT_TRUE(receiver.has(1));
  const json::value body = json::parse(receiver.server.requests().at(0).body);
  EXPECT_EQ(body.at("type").as_string(), "events_missed");
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(2));
  EXPECT_EQ(title_of(receiver.server.requests().at(1)), "third");
}

TEST_F(PushingOut, DeliversTheRemainingEventsAfterMissedOnes) {
  const std::string url = world.add("/feed", {{"1", "first"}});
  const std::string id = add_webhook();
  for (const std::string post : {"2", "3", "4"}) {
    world.publish("/feed", {{post, "post " + post}, {"1", "first"}});
    world.refresh(url);
  }
  world.redis_text({"XTRIM", "stream:signals", "MAXLEN", "1"});
  world.redis_text({"ZADD", "push_out:due", "1", id});  // before it becomes due by itself and is served twice
  world.start();
  ASSERT_TRUE(receiver.has(2));
  const json::value missed = json::parse(receiver.server.requests().at(0).body);
  EXPECT_EQ(missed.at("type").as_string(), "events_missed");
  EXPECT_EQ(missed.at("data").at("oldest").as_string(), receiver.ids().at(1));
  EXPECT_EQ(title_of(receiver.server.requests().at(1)), "post 4");
}

// WEBSUB U15: once a feed is removed, its republish setting can no longer be looked up.
TEST_F(PushingOut, ReportsARemovedFeedUnlessItWasPrivate) {
  const std::string shown = world.add("/feed", {{"1", "first"}}), kept = world.add("/private", {{"1", "first"}});
  EXPECT_EQ(world.run({"set", kept, "republish="}).exit, 0);  // private: on this machine, no other client can fetch it
  world.start();
  add_webhook();
  EXPECT_EQ(world.run({"remove", kept, "--yes"}).exit, 0);
  EXPECT_EQ(world.run({"remove", shown, "--yes"}).exit, 0);
  ASSERT_TRUE(receiver.has(1));
  const json::value told = json::parse(receiver.server.requests().at(0).body);
  EXPECT_EQ(told.at("type").as_string(), "feed_removed");
  EXPECT_EQ(told.at("data").at("feed_url").as_string(), shown);
  EXPECT_EQ(told.at("data").at("data").at("republish").as_string(), "yes");
}

// WEBSUB U14: half of a host's slots are for fast receivers.
TEST_F(PushingOut, SlowReceiversOfAHostDoNotHoldUpTheOthersThere) {
  world.environment["FEEDMILL_PUSH_OUT_TIMEOUT"] = "6s";
  const std::string url = world.add("/feed", {{"1", "first"}});
  world.start();
  add_webhook();
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(receiver.has(1));
  constexpr std::size_t slow = 16;
  for (std::size_t i = 0; i < slow; ++i) {
    const std::string path = "/slow/" + std::to_string(i);
    receiver.server.serve(path, Response{.delay = std::chrono::seconds(20)});
    EXPECT_EQ(world.run({"webhook", "add", receiver.server.url(path)}).exit, 0);
  }
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(eventually([&] { return receiver.server.count("/hook") == 2; }));
  EXPECT_LE(receiver.server.requests().size() - 2, 2U) << "slow ones that went before";
}

TEST_F(PushingOut, ABusyReceiverYieldsItsSlotToOthersOfItsHost) {
  world.environment["FEEDMILL_PUSH_OUT_PER_HOST"] = "2";
  const std::string url = world.add("/feed", {{"0", "post 0"}});
  world.start();
  constexpr std::size_t webhooks = 4, events = 100;  // without a free slot a receiver is retried after a second
  for (std::size_t i = 0; i < webhooks; ++i) {
    const std::string path = "/much/" + std::to_string(i);
    receiver.server.serve(path, Response{.status = 204, .delay = std::chrono::milliseconds(20)});
    EXPECT_EQ(world.run({"webhook", "add", receiver.server.url(path)}).exit, 0);
  }
  std::vector<std::pair<std::string, std::string>> posts;
  for (std::size_t i = 0; i <= events; ++i) posts.emplace_back(std::to_string(i), "post");
  world.publish("/feed", posts);
  world.refresh(url);
  receiver.server.wait_for_requests(webhooks * events);
  std::map<std::string, std::size_t> told;
  for (const ServedRequest& request : receiver.server.requests()) {
    if (++told[request.target] == events) break;
  }
  EXPECT_EQ(told.size(), webhooks) << "each was told of something before any was told of all";
}

// Killed at any moment: every post is delivered, in order, and duplicates have the same id.
TEST_F(PushingOut, MissesNothingDespiteRepeatedKills) {
  const std::string url = world.add("/feed", {{"0", "post 0"}});
  world.start();
  add_webhook();
  std::vector<std::pair<std::string, std::string>> posts{{"0", "post 0"}};
  const int rounds = tries(6, 60, 600);
  for (int round = 1; round <= rounds; ++round) {
    posts.insert(posts.begin(), {std::to_string(round), "post " + std::to_string(round)});
    if (posts.size() > 20) posts.pop_back();
    world.publish("/feed", posts);
    world.refresh(url);
    world.worker->signal(SIGKILL);
    world.worker->wait();
    world.redis_text({"DEL", "lock:push_out"});
    world.start();
    world.redis_text({"EVAL",
                      "for _, id in ipairs(redis.call('ZRANGE', 'push_out:due', 0, -1)) do "
                      "redis.call('ZADD', 'push_out:due', 1, id) end",
                      "0"});
  }
  const std::string last = "post " + std::to_string(rounds);
  ASSERT_TRUE(eventually([&] {
    const auto all = receiver.server.requests();
    return std::ranges::any_of(all, [&](const auto& request) { return title_of(request) == last; });
  }));
  std::vector<std::string> told;
  std::map<std::string, std::string> titles;
  for (const ServedRequest& request : receiver.server.requests()) {
    if (json::parse(request.body).at("type").as_string() != "post_created") continue;
    const std::string id = request.header("webhook-id"), title = title_of(request);
    const bool first = titles.emplace(id, title).second;
    EXPECT_EQ(titles[id], title);
    if (first) told.push_back(title);
  }
  std::vector<std::string> expected;
  for (int round = 1; round <= rounds; ++round) expected.push_back("post " + std::to_string(round));
  EXPECT_EQ(told, expected);
}

TEST_F(PushingOut, PrivateFeedsAreNotDelivered) {
  world.publish("/private", {{"1", "first"}});
  const std::string url = world.http.url("/private");
  EXPECT_EQ(world.run({"add", url}).exit, 0);
  EXPECT_EQ(world.run({"refresh", url, "--ignore-floor"}).exit, 0);
  world.start();
  // Only the leader counts withheld events, from its first look at the stream on.
  ASSERT_TRUE(eventually([&] { return world.redis_text({"EXISTS", "deliver:push_out:000"}) == "1"; }));
  const std::string withheld = add_webhook({"--feed", url});
  EXPECT_NE(world.run({"topic", "add", url}).exit, 0) << "opened by egress.allow";
  world.publish("/private", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  const std::string other = world.add("/feed", {{"a", "one"}});
  add_webhook({"--feed", other});
  world.publish("/feed", {{"b", "two"}, {"a", "one"}});
  world.refresh(other);
  ASSERT_TRUE(receiver.has(1));
  EXPECT_EQ(title_of(receiver.server.requests().at(0)), "two");
  EXPECT_EQ(Subscribers(world.store).get(withheld)->value().withheld, 1U);
}

TEST_F(PushingOut, DropsEventsOfFeedsThatBecamePrivate) {
  const std::string url = world.add("/feed", {{"1", "first"}}), other = world.add("/other", {{"a", "one"}});
  world.start();
  const std::string id = add_webhook();
  receiver.status = 500;
  world.publish("/feed", {{"2", "second"}, {"1", "first"}});
  world.refresh(url);
  ASSERT_TRUE(eventually([&] { return Subscribers(world.store).get(id)->value().failures == 1; }));
  EXPECT_EQ(world.run({"set", url, "republish=no"}).exit, 0);
  receiver.status = 200;
  world.publish("/other", {{"b", "two"}, {"a", "one"}});
  world.refresh(other);
  const std::size_t before = receiver.server.requests().size();
  world.hurry();
  ASSERT_TRUE(receiver.has(before + 1));
  EXPECT_EQ(title_of(receiver.server.requests().back()), "two");
}

/// The hub as subscribers see it.
class Hub : public PushingOut {
 protected:
  void SetUp() override {
    feed = world.add("/feed", {{"1", "first"}});
    world.start();
    const json::object row = world.asked({"topic", "add", feed, "--json"});
    topic = std::string(row.at("atom").as_string());
    topic_json = std::string(row.at("json").as_string());
    subscriber.serve_rest([this](const ServedRequest& request) { return answer(request); });
  }

  Response answer(const ServedRequest& request) {
    if (request.method == "POST") return Response{.status = status};
    const auto fields = form_fields(request.target.substr(request.target.find('?') + 1));
    for (const auto& [name, value] : fields) {
      if (name == "hub.challenge") return Response{.status = confirms ? 200 : 404, .body = confirms ? value : "no"};
    }
    return Response{.status = 200};
  }

  HttpAnswer subscribe(const std::string& callback, const std::string& mode = "subscribe",
                       const std::string& more = "&hub.secret=s3cret") {
    return ask({"POST",
                world.public_url + "/hub",
                {{"Content-Type", "application/x-www-form-urlencoded"}},
                "hub.mode=" + mode + "&hub.topic=" + percent_encoded(topic) +
                    "&hub.callback=" + percent_encoded(callback) + "&foo=bar" + more});
  }
  std::vector<ServedRequest> posts() const {
    std::vector<ServedRequest> all;
    for (ServedRequest& request : subscriber.requests()) {
      if (request.method == "POST") all.push_back(std::move(request));
    }
    return all;
  }
  std::uint64_t active() { return Subscribers(world.store).counts()->hub_active; }
  void publish_second() {
    world.publish("/feed", {{"2", "second"}, {"1", "first"}});
    world.refresh(feed);
  }

  std::string feed, topic, topic_json;
  std::atomic<bool> confirms = true;
  std::atomic<int> status = 202;
  HttpServer subscriber;
};

TEST_F(Hub, TopicsAreDocumentsThatNameHubAndSelf) {
  const HttpAnswer document = ask({.url = topic});
  EXPECT_EQ(document.status, 200) << document.body;
  EXPECT_THAT(document.header("Content-Type"), HasSubstr("application/atom+xml"));
  EXPECT_EQ(document.header("Link"), "<" + world.public_url + "/hub>; rel=\"hub\", <" + topic + ">; rel=\"self\"");
  EXPECT_EQ(document.header("X-Robots-Tag"), "noindex");
  EXPECT_THAT(document.body, HasSubstr("rel=\"hub\""));
  EXPECT_THAT(document.body, HasSubstr("first"));
  const std::string etag = document.header("ETag");
  EXPECT_EQ(ask({.url = topic, .headers = {{"If-None-Match", etag}}}).status, 304);
  EXPECT_EQ(ask({.url = topic, .headers = {{"If-None-Match", "\"x\", W/" + etag}}}).status, 304);
  EXPECT_EQ(ask({.url = topic, .headers = {{"If-None-Match", "\"x\""}}}).status, 200);
  EXPECT_EQ(ask({.method = "HEAD", .url = topic}).status, 200);
  const HttpAnswer as_json = ask({.url = topic_json});
  EXPECT_EQ(as_json.status, 200);
  EXPECT_THAT(json::serialize(json::parse(as_json.body).at("hubs")), HasSubstr("/hub"));
  EXPECT_EQ(ask({.url = world.public_url + "/t/" + std::string(26, 'a') + ".atom"}).status, 404);
  EXPECT_EQ(ask({.method = "POST", .url = topic}).status, 405);
  EXPECT_EQ(ask({.url = world.public_url + "/"}).status, 404);
  EXPECT_EQ(world.run({"topic", "remove", feed, "--yes"}).exit, 0);
  EXPECT_TRUE(eventually([&] { return ask({.url = topic}).status == 404; }));
}

TEST_F(Hub, SubscriberThatConfirmsGetsNewPostsSigned) {
  const std::string callback = subscriber.url("/cb?mine=1");
  EXPECT_EQ(subscribe(callback).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  const auto asked = subscriber.requests().at(0);
  EXPECT_THAT(asked.target, testing::StartsWith("/cb?mine=1&hub.mode=subscribe"));
  EXPECT_THAT(asked.target, HasSubstr("hub.lease_seconds=864000"));
  publish_second();
  ASSERT_TRUE(eventually([&] { return posts().size() == 1; }));
  const ServedRequest told = posts().at(0);
  EXPECT_EQ(told.target, "/cb?mine=1");
  EXPECT_THAT(told.header("Content-Type"), HasSubstr("application/atom+xml"));
  EXPECT_EQ(told.header("Link"), "<" + world.public_url + "/hub>; rel=\"hub\", <" + topic + ">; rel=\"self\"");
  EXPECT_EQ(told.header("X-Hub-Signature"), feedmill::hub_signature("s3cret", told.body));
  EXPECT_THAT(told.body, HasSubstr("second"));
  EXPECT_THAT(told.body, Not(HasSubstr("first"))) << "cut to what is new";
  EXPECT_EQ(subscribe(callback, "unsubscribe", "").status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 0; }));
}

TEST_F(Hub, SubscriberThatDoesNotConfirmKeepsItsFormerState) {
  confirms = false;
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually(
      [&] { return subscriber.requests().size() == 1 && Subscribers(world.store).counts()->hub_pending == 0; }));
  confirms = true;
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  // An attacker asks to unsubscribe; the subscriber does not confirm, and its deliveries continue (U5).
  confirms = false;
  EXPECT_EQ(subscribe(subscriber.url("/cb"), "unsubscribe").status, 202);
  EXPECT_EQ(subscribe(subscriber.url("/cb"), "subscribe", "&hub.secret=other").status, 202);
  ASSERT_TRUE(eventually([&] { return subscriber.requests().size() >= 3; }));
  publish_second();
  ASSERT_TRUE(eventually([&] { return posts().size() == 1; }));
  EXPECT_EQ(posts().at(0).header("X-Hub-Signature"), feedmill::hub_signature("s3cret", posts().at(0).body));
}

TEST_F(Hub, InvalidRequestsAreRejectedWithTheReason) {
  const auto refused = [&](const std::string& body, const std::string& why, int expected = 400) {
    const HttpAnswer answer =
        ask({"POST", world.public_url + "/hub", {{"Content-Type", "application/x-www-form-urlencoded"}}, body});
    EXPECT_EQ(answer.status, expected) << body;
    EXPECT_THAT(answer.body, HasSubstr(why)) << body;
  };
  const std::string good_topic = "&hub.topic=" + percent_encoded(topic),
                    callback = "&hub.callback=http://127.0.0.1:8080/";
  refused("", "hub.mode");
  refused("hub.mode=publish" + good_topic + callback, "hub.mode");
  refused("hub.mode=subscribe" + callback, "hub.topic");
  refused("hub.mode=subscribe" + good_topic, "hub.callback");
  refused("hub.mode=subscribe" + good_topic + "&hub.callback=ftp://x/", "hub.callback");
  refused("hub.mode=subscribe" + good_topic + callback + callback, "twice");
  refused("hub.mode=subscribe&hub.topic=https://example.org/" + callback, "is not a topic of this hub", 404);
  refused("hub.mode=subscribe" + good_topic + callback + "&hub.secret=" + std::string(200, 's'), "200 bytes");
  refused("hub.mode=unsubscribe" + good_topic + callback, "no such subscription", 404);
  EXPECT_EQ(ask({.url = world.public_url + "/hub"}).status, 405);
  EXPECT_EQ(ask({"POST", world.public_url + "/hub", {{"Content-Type", "text/plain"}}, "x"}).status, 415);
}

TEST_F(Hub, RemovedTopicIsDenied) {
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  EXPECT_EQ(world.run({"topic", "remove", feed, "--yes"}).exit, 0);
  ASSERT_TRUE(eventually([&] {
    const auto all = subscriber.requests();
    return std::ranges::any_of(all,
                               [](const auto& one) { return one.target.find("hub.mode=denied") != std::string::npos; });
  }));
  EXPECT_TRUE(eventually([&] { return active() == 0; }));
}

TEST_F(Hub, AStreamEndsWithItsTopic) {
  const std::size_t token = topic.find("/t/") + 3;
  const std::string stream = world.public_url + "/events?topic=" + topic.substr(token, topic.rfind('.') - token);
  auto heard = std::async(std::launch::async, [&] { return ask({.url = stream}); });
  ASSERT_TRUE(eventually([&] { return ask({.url = topic}).status == 200; }));
  EXPECT_EQ(world.run({"topic", "remove", feed, "--yes"}).exit, 0);
  EXPECT_EQ(world.run({"topic", "add", feed}).exit, 0) << "under another address";
  const HttpAnswer answer = heard.get();
  EXPECT_TRUE(answer.status == 200 || answer.status == 404) << answer.status;
  const HttpAnswer gone = ask({.url = stream});
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.header("Access-Control-Allow-Origin"), "*") << "a page elsewhere may read why";
}

TEST_F(Hub, AFeedThatIsRemovedEndsItsTopicForGood) {
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  EXPECT_EQ(world.run({"remove", feed, "--yes"}).exit, 0);
  EXPECT_TRUE(eventually([&] { return active() == 0; }));
  const auto all = subscriber.requests();
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const auto& one) { return one.target.find("hub.mode=denied") != std::string::npos; }));
  EXPECT_EQ(world.add("/feed", {{"1", "first"}}), feed);
  EXPECT_EQ(ask({.url = topic}).status, 404) << "whoever has the address was to see what was published then";
  EXPECT_EQ(world.run({"topic", "list"}).out, "");
}

TEST_F(Hub, AStreamResumesAtItsPositionAfterARedisOutage) {
  const std::size_t token = topic.find("/t/") + 3;
  const std::string request = "GET /events?topic=" + topic.substr(token, topic.rfind('.') - token) +
                              "&last_event_id=" + *EventStream(world.store).last_seq() +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const auto begins = [&] { return say_and_hear_out(world.port, request, "", std::chrono::seconds(1)).substr(0, 12); };
  ASSERT_TRUE(eventually([&] { return begins() == "HTTP/1.1 200"; }));
  world.redis_text({"CLIENT", "KILL", "TYPE", "normal"});  // like a restart of Redis
  EXPECT_EQ(begins(), "HTTP/1.1 200");
}

TEST_F(Hub, ALeaseEnds) {
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  world.redis_text({"EVAL",
                    "for _, id in ipairs(redis.call('ZRANGE', 'push_out:ids', 0, -1)) do "
                    "redis.call('HSET', 'push_out:subscriber:' .. id, 'lease_end', 1) "
                    "redis.call('ZADD', 'push_out:due', 1, id) end",
                    "0"});
  EXPECT_TRUE(eventually([&] { return active() == 0; }));
}

// Giving up a delivery does not end the subscription, which continues with the next event (U12).
TEST_F(Hub, AbandonedDeliveryDoesNotEndTheSubscription) {
  EXPECT_EQ(subscribe(subscriber.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return active() == 1; }));
  status = 500;
  publish_second();
  ASSERT_TRUE(eventually([&] { return posts().size() == 1; }));
  const auto failures = [&] {
    return world.redis_text({"EVAL",
                             "for _, id in ipairs(redis.call('ZRANGE', 'push_out:ids', 0, -1)) do return "
                             "redis.call('HGET', 'push_out:subscriber:' .. id, 'failures') or '' end",
                             "0"});
  };
  ASSERT_TRUE(eventually([&] { return failures() == "1"; }));
  // A request in the subscriber's name does not shorten the back-off.
  confirms = false;
  for (const char* mode : {"subscribe", "unsubscribe"}) {
    const std::size_t before = subscriber.requests().size();
    EXPECT_EQ(subscribe(subscriber.url("/cb"), mode, "").status, 202);
    ASSERT_TRUE(eventually([&] { return subscriber.requests().size() > before; }));
  }
  ASSERT_TRUE(eventually([&] {
    return world.redis_text(
               {"EVAL",
                "return #redis.call('ZRANGEBYSCORE', 'push_out:due', redis.call('TIME')[1] * 1000 + 20000, "
                "'+inf')",
                "0"}) == "1";
  }));
  EXPECT_EQ(posts().size(), 1U);
  EXPECT_EQ(failures(), "1");
  world.redis_text({"EVAL",
                    "for _, id in ipairs(redis.call('ZRANGE', 'push_out:ids', 0, -1)) do "
                    "redis.call('HSET', 'push_out:subscriber:' .. id, 'failures', 12, 'retry_at', 0) end",
                    "0"});
  world.hurry();
  ASSERT_TRUE(eventually([&] { return failures().empty(); })) << "there are none";
  status = 202;
  world.publish("/feed", {{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh(feed);
  ASSERT_TRUE(eventually([&] { return posts().size() == 3; }));
  EXPECT_THAT(posts().back().body, HasSubstr("third"));
  EXPECT_THAT(posts().back().body, Not(HasSubstr("second")));
}

/// Adds confirmed hub subscribers while no worker runs.
void subscribe_all(Store& store, const std::vector<std::string>& callbacks, const Topic& topic,
                   const std::string& topic_url) {
  Subscribers subscribers(store);
  for (const std::string& callback : callbacks) {
    Subscriber one;
    one.url = callback;
    one.topic = topic;
    one.topic_url = topic_url;
    one.intent = {"subscribe", "s3cret", std::chrono::hours(1), "", 0};
    const auto asked = subscribers.ask(one);
    ASSERT_TRUE(asked && *asked) << callback;
  }
  std::size_t confirmed = 0;
  while (confirmed < callbacks.size()) {
    const auto taken = subscribers.take(500, Milliseconds(60'000), "test");
    ASSERT_TRUE(taken && !taken->subscribers.empty());
    std::vector<SubscriberSettlement> all;
    for (const Subscriber& one : taken->subscribers) {
      const auto end = std::to_string((taken->now + std::chrono::hours(1)).count());
      all.push_back({one.id,
                     taken->claim,
                     "",
                     SubscriberSettlement::Then::idle,
                     Milliseconds(0),
                     {{"state", "active"},
                      {"secret", "s3cret"},
                      {"lease_end", end},
                      {"want_mode", ""},
                      {"want_secret", ""},
                      {"want_lease", ""},
                      {"want_tries", ""}}});
    }
    const auto held = subscribers.settle(all, Milliseconds(60'000));
    ASSERT_TRUE(held) << held.error().detail;
    ASSERT_EQ(std::ranges::count(*held, true), static_cast<std::ptrdiff_t>(all.size()));
    confirmed += all.size();
  }
}

// Of the dead subscribers, half refuse connections and half accept them and never answer. The others get their
// deliveries while the silent ones are still being waited for (U14).
TEST_F(Hub, ManySubscribersDoNotWaitForTheDead) {
  const auto count = static_cast<std::size_t>(tries(300, 10'000, 10'000));
  const std::size_t dead = std::max<std::size_t>(4, count / 100);
  world.worker->signal(SIGKILL);
  world.worker->wait();
  world.redis_text({"DEL", "lock:push_out"});

  std::mutex mutex;
  std::map<std::string, int> told;  // deliveries by path
  HttpServer living;
  living.forget_requests();
  living.serve_rest([&](const ServedRequest& request) {
    const std::lock_guard lock(mutex);
    ++told[request.target];
    return Response{.status = 202};
  });
  HttpServer silent(0, boost::asio::ip::make_address_v4("127.0.0.2"));
  silent.serve_rest([](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  const std::string silence = "http://127.0.0.2:" + std::to_string(silent.port());
  const std::string refusal = "http://127.0.0.3:" + std::to_string(free_port());
  std::vector<std::string> callbacks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = "/cb/" + std::to_string(i);
    if (i >= dead) callbacks.push_back(living.url(path));
    if (i < dead) callbacks.push_back((i % 2 == 0 ? silence : refusal) + path);
  }
  ASSERT_NO_FATAL_FAILURE(subscribe_all(world.store, callbacks, {TopicKind::feed, feed}, topic));
  ASSERT_EQ(active(), count);

  // All subscribers share three hosts here, and silent receivers use up their share of the lanes.
  world.environment["FEEDMILL_PUSH_OUT_AT_ONCE"] = "256";
  world.environment["FEEDMILL_PUSH_OUT_PER_HOST"] = "64";
  world.environment["FEEDMILL_PUSH_OUT_TIMEOUT"] = "30s";
  world.start();
  publish_second();
  const auto reached = [&] {
    const std::lock_guard lock(mutex);
    return told.size();
  };
  const auto failed = [&](const std::string& address) {
    return world.redis_text({"EVAL",
                             "local n = 0 for _, id in ipairs(redis.call('ZRANGE', 'push_out:ids', 0, -1)) do "
                             "local r = redis.call('HMGET', 'push_out:subscriber:' .. id, 'url', 'failures') "
                             "if r[2] and string.sub(r[1], 1, #ARGV[1]) == ARGV[1] then n = n + 1 end end return n",
                             "0", address});
  };
  for (std::size_t before = 0; reached() < count - dead;) {
    ASSERT_TRUE(eventually([&] { return reached() > before; })) << before << " of " << count;
    before = reached();
  }
  EXPECT_EQ(failed(silence), "0") << "they are still being waited for";
  EXPECT_EQ(failed(living.url("/")), "0");
  EXPECT_TRUE(eventually([&] { return failed(refusal) == std::to_string(dead / 2); }));
  EXPECT_EQ(active(), count) << "who fails stays subscribed";
  const std::lock_guard lock(mutex);
  for (const auto& [path, times] : told) EXPECT_EQ(times, 1) << path;
}

/// Publisher → A → hub → B.
class Chain : public testing::Test {
 protected:
  Chain() {
    const std::uint16_t callbacks = free_port();
    b.environment["FEEDMILL_WEBSUB_PUBLIC_URL"] = "http://127.0.0.1:" + std::to_string(callbacks);
    b.environment["FEEDMILL_WEBSUB_LISTEN"] = "127.0.0.1:" + std::to_string(callbacks);
    b.environment["FEEDMILL_WEBSUB_ALLOW_HTTP"] = "true";
  }

  std::string field(OutsideWorld& world, const std::string& url, const std::string& title, const std::string& name) {
    return world.redis_text({"EVAL",
                             ("for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do "
                              "if redis.call('HGET', id, 'title') == ARGV[1] then "
                              "return redis.call('HGET', id, ARGV[2]) end end return ''"),
                             "1", url + ":sort", title, name});
  }
  std::string topic_of(OutsideWorld& world, const std::vector<std::string>& what) {
    std::vector<std::string> words{"topic", "add"};
    words.insert(words.end(), what.begin(), what.end());
    words.emplace_back("--json");
    return std::string(world.asked(words).at("atom").as_string());
  }

  OutsideWorld a, b;
};

TEST_F(Chain, PostsGoThroughTwoFeedmillsOnce) {
  const std::string feed = a.add("/feed", {{"1", "first"}});
  a.start();
  const std::string topic = topic_of(a, {feed});
  b.start();
  EXPECT_EQ(b.run({"add", topic}).exit, 0);
  EXPECT_EQ(b.run({"set", topic, "republish=yes"}).exit, 0);
  ASSERT_TRUE(eventually([&] { return Subscribers(a.store).counts()->hub_active == 1; }));
  ASSERT_TRUE(eventually([&] { return !field(b, topic, "first", "guid").empty(); }));
  const std::string first = field(b, topic, "first", "guid");
  EXPECT_THAT(first, testing::StartsWith("urn:uuid:"));
  a.publish("/feed", {{"2", "second"}, {"1", "first"}});
  a.refresh(feed);
  ASSERT_TRUE(eventually([&] { return !field(b, topic, "second", "guid").empty(); }));
  // A later poll finds the same post.
  b.refresh(topic);
  EXPECT_EQ(b.redis_text({"ZCARD", topic + ":sort"}), "2");
  EXPECT_EQ(field(b, topic, "first", "guid"), first);
  EXPECT_EQ(b.count("post_created"), 2U);
}

TEST_F(Chain, ALoopEnds) {
  const std::string feed = a.add("/feed", {{"1", "first"}});
  a.start();
  b.start();
  for (OutsideWorld* world : {&a, &b}) EXPECT_EQ(world->run({"channel", "add", "all"}).exit, 0);
  EXPECT_EQ(a.run({"channel", "feeds", "all", "--add", feed}).exit, 0);
  const std::string of_a = topic_of(a, {"--channel", "all"}), of_b = topic_of(b, {"--channel", "all"});
  for (const auto& [world, other] : {std::pair(&b, of_a), std::pair(&a, of_b)}) {
    EXPECT_EQ(world->run({"add", other, "--channel", "all"}).exit, 0);
    EXPECT_EQ(world->run({"set", other, "republish=yes"}).exit, 0);
    EXPECT_EQ(world->run({"refresh", other, "--ignore-floor"}).exit, 0);
  }
  ASSERT_TRUE(eventually([&] { return Subscribers(a.store).counts()->hub_active == 1; }));
  a.publish("/feed", {{"2", "second"}, {"1", "first"}});
  a.refresh(feed);
  ASSERT_TRUE(eventually([&] { return !field(b, of_a, "second", "guid").empty(); }));
  ASSERT_TRUE(eventually([&] { return ask({.url = of_b}).body.find("second") != std::string::npos; }));
  for (int round = 0; round < 3; ++round) {
    a.refresh(of_b);
    b.refresh(of_a);
  }
  EXPECT_EQ(a.redis_text({"ZCARD", of_b + ":sort"}), "0") << "what has been here does not come back";
  EXPECT_EQ(a.redis_text({"GET", "ids:Entry"}), "2");
  EXPECT_EQ(b.redis_text({"GET", "ids:Entry"}), "2");
}

}  // namespace
}  // namespace feedmill::test::push_out_test
