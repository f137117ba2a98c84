// The subscriber's duties, one case each, against the program with a real hub and a real publisher (WEBSUB §3). Then
// topics beyond the cases: several workers, renewals, the view from outside.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/push_world.hpp"

namespace feedmill::test::websub_test {
namespace {

namespace json = boost::json;

const std::string feed_type = "application/atom+xml";

class Subscribing : public testing::Test {
 protected:
  std::vector<std::string> checked_hubs(const std::string& path) {
    const Finished done = world.run({"check", world.http.url(path), "--json"});
    const json::value checked = json::parse(done.out);
    std::vector<std::string> hubs;
    for (const json::value& hub : checked.at("hubs").as_array()) {
      hubs.emplace_back(hub.as_string().c_str());
    }
    return hubs;
  }
  void expect_subscribed(const std::string& topic) {
    EXPECT_TRUE(world.hub.await_subscribers(topic, 1)) << world.worker().program().err();
    for (const HttpAnswer& answer : world.hub.verifications()) EXPECT_EQ(answer.status, 200) << answer.head;
  }
  std::string feeds() { return world.redis_text({"SMEMBERS", "feeds"}); }

  PushWorld world;
};

TEST_F(Subscribing, Case100LinksInHeaders) {
  const std::string topic = world.http.url("/topic");
  world.http.serve("/feed", {.headers = {{"Content-Type", feed_type},
                                         {"Link", "<" + world.hub.url() + ">; rel=\"hub\""},
                                         {"Link", "<" + topic + ">; rel=\"self\""}},
                             .body = atom({{"1", "first"}})});
  world.add_served("/feed");
  world.start();
  expect_subscribed(topic);
}

TEST_F(Subscribing, Case101LinksOfAPageInItsHead) {
  const std::string links = "<link rel=\"hub\" href=\"" + world.hub.url() + "\"><link rel=\"self\" href=\"/page\">";
  const auto page = [](const std::string& head, const std::string& body) {
    return Response{.headers = {{"Content-Type", "text/html"}},
                    .body = "<!DOCTYPE html><html><head><title>A page</title>" + head + "</head><body><p>Text.</p>" +
                            body + "</body></html>"};
  };
  world.http.serve("/head", page(links, ""));
  world.http.serve("/body", page("", links));
  world.http.serve("/comment", page("<!-- " + links + " -->", ""));
  EXPECT_EQ(checked_hubs("/head"), std::vector{world.hub.url()});
  EXPECT_EQ(checked_hubs("/body"), std::vector<std::string>());
  EXPECT_EQ(checked_hubs("/comment"), std::vector<std::string>());
}

TEST_F(Subscribing, Case102LinksOfAnAtomFeed) {
  const std::string url = world.subscribed_feed();
  expect_subscribed(url);
}

TEST_F(Subscribing, Case103AtomLinksInRss) {
  for (const std::string prefix : {"atom", "a10"}) {
    const std::string path = "/" + prefix, topic = world.http.url(path + "/self");
    const auto link = [&](const std::string& rel, const std::string& href) {
      return "<" + prefix + ":link rel=\"" + rel + "\" href=\"" + href + "\"/>";
    };
    world.http.serve(
        path, {.body = "<rss version=\"2.0\" xmlns:" + prefix +
                       "=\"http://www.w3.org/2005/Atom\"><channel><title>t</title>" + link("hub", world.hub.url()) +
                       link("self", topic) + "<item><guid>1</guid><title>first</title></item></channel></rss>"});
    world.add_served(path);
  }
  world.start();
  expect_subscribed(world.http.url("/atom/self"));
  expect_subscribed(world.http.url("/a10/self"));
}

TEST_F(Subscribing, Case104HeadersWinOverTheBody) {
  WebSubHub other(world.hub_server, "/other");
  const std::string topic = world.http.url("/header"), wrong = world.http.url("/body");
  world.http.serve("/feed", {.headers = {{"Content-Type", feed_type},
                                         {"Link", "<" + world.hub.url() + ">; rel=hub, <" + topic + ">; rel=self"}},
                             .body = atom({{"1", "first"}}, world.hub_links(wrong, other.url()))});
  world.add_served("/feed");
  world.start();
  expect_subscribed(topic);
  EXPECT_TRUE(other.requests().empty());
  EXPECT_EQ(world.hub.requests().size(), 1U);
}

TEST_F(Subscribing, Case200TheTopicIsTheSelf) {
  const std::string topic = world.http.url("/self?a=1"),
                    url = world.add_feed("/feed", {{"1", "first"}}, world.hub_links(topic));
  world.start();
  expect_subscribed(topic);
  const HubRequest asked = world.hub.requests().at(0);
  EXPECT_EQ(asked.mode, "subscribe");
  EXPECT_EQ(asked.lease_seconds, "864000");
  EXPECT_EQ(asked.secret.size(), 64U);
  EXPECT_TRUE(asked.callback.starts_with(world.front.url("/w/"))) << asked.callback;
  EXPECT_EQ(asked.request.header("Content-Type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(feeds(), url);
  EXPECT_EQ(world.http.count("/self"), 0U);
  EXPECT_EQ(world.hub.publish(topic, atom({{"2", "pushed"}})).at(0).status, 202);
  EXPECT_TRUE(eventually([&] { return world.title(url, "2") == "pushed"; }));
}

TEST_F(Subscribing, Case201ATopicThatIsElsewhereForNow) {
  world.http.serve("/feed", {.status = 302, .headers = {{"Location", "/there"}}});
  const std::string topic = world.http.url("/there");
  world.serve_posts("/there", {{"1", "first"}}, world.hub_links(topic));
  const std::string url = world.add_served("/feed");
  world.start();
  expect_subscribed(topic);
  EXPECT_EQ(feeds(), url);
  EXPECT_EQ(world.title(url, "1"), "first");
}

TEST_F(Subscribing, Case202ATopicThatHasMoved) {
  world.http.serve("/feed", {.status = 301, .headers = {{"Location", "/there"}}});
  const std::string topic = world.http.url("/there");
  world.serve_posts("/there", {{"1", "first"}}, world.hub_links(topic));
  const std::string url = world.add_served("/feed");
  world.start();
  expect_subscribed(topic);
  EXPECT_EQ(feeds(), url);  // HTTP R5: one 301 does not move it
}

class MovedHub : public Subscribing, public testing::WithParamInterface<int> {};

TEST_P(MovedHub, IsAskedAgainWithTheSameBody) {
  world.hub_server.serve("/old", {.status = GetParam(), .headers = {{"Location", "/hub"}}});
  const std::string topic = world.http.url("/feed");
  const std::string url =
      world.add_feed("/feed", {{"1", "first"}}, world.hub_links(topic, world.hub_server.url("/old")));
  world.start();
  expect_subscribed(topic);
  const auto requests = world.hub_server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].method + requests[1].method, "POSTPOST");
  EXPECT_EQ(requests[0].body, requests[1].body);
  EXPECT_EQ(requests[0].header("Content-Type"), requests[1].header("Content-Type"));
  // The next request goes to the old URL, unless the hub moved permanently.
  world.hub.behave({.verifies = false});
  const std::string old = world.hub_server.url("/old"), now_at = GetParam() == 308 ? world.hub.url() : old;
  EXPECT_TRUE(eventually([&] { return world.subscription(url, "hub_url") == now_at; }));
  EXPECT_EQ(world.subscription(url, "hub"), old);
  world.bring_forward(url, "renew_at");
  ASSERT_TRUE(world.hub.await_requests(2));
  EXPECT_EQ(world.hub_server.count("/old"), GetParam() == 308 ? 1U : 2U);
}

INSTANTIATE_TEST_SUITE_P(Cases, MovedHub, testing::Values(307, 308), [](const auto& test) {
  return (test.param == 307 ? "Case203By" : "Case204By") + std::to_string(test.param);
});

TEST_F(Subscribing, Case205AVerificationOfAnotherTopic) {
  world.hub.behave({.topic = "https://other.example/feed"});
  const std::string url = world.add_feed("/feed", {{"1", "first"}}, world.hub_links(world.http.url("/feed")));
  PushWorker& worker = world.start();
  ASSERT_TRUE(world.hub.await_requests(1));
  EXPECT_EQ(world.hub.verifications().at(0).status, 404);
  EXPECT_EQ(world.state(url, "push_state"), "pending");
  EXPECT_EQ(world.subscription(url, "state", true), "pending");
  EXPECT_EQ(worker.verifications("refused"), 1);
  EXPECT_EQ(worker.verifications("accepted"), 0);
}

TEST_F(Subscribing, Case300ADelivery) {
  const std::string url = world.subscribed_feed();
  const std::size_t created = world.count("post_created"), asked = world.http.count("/feed");
  const auto answers = world.hub.publish(url, atom({{"2", "second"}}));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 202);
  EXPECT_EQ(answers[0].body, "");
  EXPECT_TRUE(eventually([&] { return world.count("post_created") == created + 1; }));
  EXPECT_EQ(world.title(url, "2"), "second");
  EXPECT_EQ(world.title(url, "1"), "first");
  EXPECT_EQ(world.http.count("/feed"), asked);
  EXPECT_EQ(world.worker().deliveries("fat"), 1);
}

class ForgedDelivery : public Subscribing {
 protected:
  void expect_ignored(PushWorld::Headers headers) {
    const std::string url = world.subscribed_feed();
    const std::string before = world.everything();
    const std::size_t requests = world.requests_made();
    EXPECT_EQ(PushWorld::deliver(world.subscriber(url).callback, atom({{"2", "forged"}}), std::move(headers)).status,
              202);
    EXPECT_EQ(world.worker().deliveries("bad_signature"), 1);
    EXPECT_EQ(world.subscription(url, "bad"), "1");
    // Later genuine pushes are still written.
    EXPECT_EQ(world.everything(), before);
    EXPECT_TRUE(world.push_and_wait(url, {"3", "genuine"}));
    EXPECT_EQ(world.title(url, "2"), "");
    EXPECT_EQ(world.requests_made(), requests);
  }
};

TEST_F(ForgedDelivery, Case301AWrongSignature) {
  expect_ignored({{"X-Hub-Signature", hub_signature("sha256", "not the secret", atom({{"2", "forged"}}))}});
}

TEST_F(ForgedDelivery, Case302NoSignatureThoughThereIsASecret) {
  expect_ignored({});
}

// Beyond the cases.

TEST_F(Subscribing, AHubIsReachedAsTheFeedIsToTheEnd) {
  // Both use a CA that only this feed's operator trusts; the hub is on a separate host.
  HttpServer server(world.authority.issue({.names = {"DNS:localhost"}}));
  WebSubHub hub(server);
  const std::string url = world.http.url("/feed"), at = server.url("localhost", "/hub");
  world.add_feed("/feed", {{"1", "first"}}, world.hub_links(url, at));
  world.start();
  ASSERT_TRUE(hub.await_subscribers(url, 1)) << world.worker().program().err();
  EXPECT_EQ(hub.subscribers(url).at(0).secret.size(), 64U);
  ASSERT_EQ(world.run({"remove", url, "--yes"}).exit, 0);
  EXPECT_TRUE(hub.await_requests(2));
  EXPECT_EQ(hub.requests().back().mode, "unsubscribe");
  EXPECT_TRUE(hub.await_subscribers(url, 0));
  EXPECT_EQ(hub.verifications().back().status, 200);
}

TEST_F(Subscribing, AHubIsAskedAsOftenAsIsConfigured) {
  world.start({{"FEEDMILL_WEBSUB_HUB_SPACING", "1min"}});
  for (const std::string path : {"/a", "/b"}) {
    world.add_feed(path, {{"1", "first"}}, world.hub_links(world.http.url(path)));
  }
  const auto waiting_for_their_turn = [&] {
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    return world.redis_text({"ZCOUNT", "websub:due", std::to_string(now + 15'000), std::to_string(now + 90'000)});
  };
  EXPECT_TRUE(eventually([&] { return world.hub.requests().size() == 1 && waiting_for_their_turn() == "1"; }));
  EXPECT_EQ(world.hub.requests().size(), 1U);
}

TEST_F(Subscribing, ShowAndExplainReportItsStateWithoutTheSecrets) {
  const std::string url = world.subscribed_feed();
  const HubSubscriber subscriber = world.subscriber(url);
  const std::string token = subscriber.callback.substr(subscriber.callback.rfind('/') + 1);
  ASSERT_EQ(token.size(), 26U);
  const Finished shown = world.run({"show", url, "--json"});
  const json::object websub = json::parse(shown.out).at("websub").as_object();
  EXPECT_EQ(websub.at("state"), "unproven");
  EXPECT_EQ(websub.at("hub"), world.hub.url().c_str());
  EXPECT_EQ(websub.at("topic"), url.c_str());
  EXPECT_EQ(websub.at("signed"), true);
  std::string said = shown.out + world.worker().program().err();
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"show", url}, {"explain", url}, {"explain", url, "--json"}, {"stats"}, {"list"}}) {
    const Finished done = world.run(verb);
    EXPECT_EQ(done.exit, 0) << done.err;
    said += done.out + done.err;
  }
  const std::string archive = (world.redis.directory() / "archive").string();
  EXPECT_EQ(
      world.run({"store", "export", archive}, {{"FEEDMILL_REDIS_URL", world.redis.url_of("feedmill_admin")}}).exit, 0);
  std::ostringstream exported;
  exported << std::ifstream(archive).rdbuf();
  EXPECT_NE(exported.str().find(url), std::string::npos);
  said += exported.str();
  EXPECT_NE(said.find("unproven since"), std::string::npos) << said;
  EXPECT_EQ(said.find(token), std::string::npos);
  EXPECT_EQ(said.find(subscriber.secret), std::string::npos);
  EXPECT_EQ(world.redis_text({"KEYS", "*"}).find(token), std::string::npos);
}

TEST_F(Subscribing, RenewalsHaveNewPathsAndNoPushIsLostInBetween) {
  const std::string url = world.subscribed_feed();
  world.hub.behave({.verifies = false});
  HubSubscriber current = world.subscriber(url);
  int post = 100;
  const auto push = [&](const HubSubscriber& to) {
    const std::string id = std::to_string(++post);
    EXPECT_EQ(PushWorld::push(to, atom({{id, "of the way " + id}})).status, 202);
    EXPECT_TRUE(eventually([&] { return !world.title(url, id).empty(); })) << id;
  };
  for (std::size_t renewal = 1; renewal <= 3; ++renewal) {
    push(current);
    world.bring_forward(url, "renew_at");
    ASSERT_TRUE(world.hub.await_requests(renewal + 1));
    const HubRequest asked = world.hub.requests().back();
    EXPECT_NE(asked.callback, current.callback);
    EXPECT_NE(asked.secret, current.secret);
    const HubSubscriber renewed{asked.callback, url, asked.secret, "864000"};
    push(current);  // requested, not verified: the old path is valid, the new one accepts nothing yet
    EXPECT_EQ(PushWorld::push(renewed, atom({{"early", "too early"}})).status, 404);
    const HttpAnswer verified =
        WebSubHub::verify(asked.callback, {{"hub.mode", "subscribe"}, {"hub.topic", url}, {"hub.challenge", "c"}});
    EXPECT_EQ(verified.status, 200);
    EXPECT_EQ(verified.body, "c");
    push(current);
    push(renewed);
    // The previous subscription's secret is not valid on the new path.
    const std::int64_t bad = world.worker().deliveries("bad_signature");
    EXPECT_EQ(PushWorld::push({renewed.callback, url, current.secret, ""}, atom({{"mixed", "mixed up"}})).status, 202);
    EXPECT_EQ(world.worker().deliveries("bad_signature"), bad + 1);
    push(current);
    current = renewed;
  }
  EXPECT_EQ(world.title(url, "early"), "");
  EXPECT_EQ(world.title(url, "mixed"), "");
  EXPECT_EQ(world.state(url, "push_state"), "healthy");
  EXPECT_EQ(world.http.count("/feed"), 1U);
}

// WEBSUB L2
TEST_F(Subscribing, WhenALeaseEndsWithoutRenewalTheFeedIsPolledAtOnce) {
  const std::string url = world.subscribed_feed();
  for (const std::string id : {"2", "3", "4"}) ASSERT_TRUE(world.push_and_wait(url, {id, "post " + id}));
  ASSERT_EQ(world.state(url, "push_state"), "healthy");
  ASSERT_EQ(world.http.count("/feed"), 1U);
  world.hub.behave({.status = 500});
  const std::string soon = std::to_string(world.store.now()->count() + 2'000);
  world.redis_text({"HSET", world.callback_key(url), "lease_end", soon});
  world.bring_forward(url, "renew_at");
  ASSERT_TRUE(world.hub.await_requests(2));
  EXPECT_TRUE(eventually([&] { return world.state(url, "push_state") == "failed"; })) << world.state(url, "push_state");
  EXPECT_TRUE(eventually([&] { return world.http.count("/feed") == 2; }));
  EXPECT_NE(world.worker().program().err().find("its lease has expired and was not renewed"), std::string::npos);
}

// WEBSUB P2
TEST_F(Subscribing, ThreeWorkersAtOneAddressActAsOne) {
  constexpr std::int64_t workers = 3, feeds = 6, pushes = 6;
  for (std::int64_t i = 0; i < workers; ++i) world.start();
  std::vector<std::string> urls;
  for (std::int64_t i = 0; i < feeds; ++i) {
    const std::string path = "/feed" + std::to_string(i);
    urls.push_back(world.add_feed(path, {{"0", "first"}}, world.hub_links(world.http.url(path))));
  }
  for (const std::string& url : urls) ASSERT_TRUE(world.hub.await_subscribers(url, 1));
  for (const HttpAnswer& answer : world.hub.verifications()) EXPECT_EQ(answer.status, 200);
  const auto publish = [&](const std::string& url, const std::string& id) {
    const PushedPost post{id, "post " + id};
    world.serve_posts(url.substr(world.http.url("").size()), {{"0", "first"}, post}, world.hub_links(url));
    return post;
  };
  for (const std::string& url : urls) {
    for (std::int64_t i = 1; i <= pushes; ++i) {
      const PushedPost post = publish(url, std::to_string(i));
      EXPECT_TRUE(world.push_and_wait(url, post)) << url << " " << i;
    }
  }
  // To all three at once, as from a hub that missed the first response.
  for (const std::string& url : urls) {
    const HubSubscriber to = world.subscriber(url);
    const PushedPost post = publish(url, "all");
    std::vector<HttpAnswer> answers(workers);
    {
      std::vector<std::jthread> hubs;
      for (HttpAnswer& answer : answers) hubs.emplace_back([&] { answer = PushWorld::push(to, atom({post})); });
    }
    for (const HttpAnswer& answer : answers) EXPECT_EQ(answer.status, 202);
    EXPECT_TRUE(eventually([&] { return world.title(url, post.id) == post.title; })) << url;
  }
  EXPECT_EQ(world.count("post_created"), static_cast<std::size_t>(feeds * (pushes + 2))) << "each once";
  // In turn: each worker has confirmed requests of the others, and written pushes to subscriptions that others
  // confirmed.
  for (std::size_t i = 0; i < static_cast<std::size_t>(workers); ++i) {
    EXPECT_EQ(world.worker(i).verifications("accepted"), feeds / workers) << i;
    EXPECT_EQ(world.worker(i).deliveries("fat"), feeds * pushes / workers + feeds) << i;
    EXPECT_EQ(world.worker(i).deliveries("unknown"), 0) << i;
    EXPECT_EQ(world.worker(i).deliveries("bad_signature"), 0) << i;
  }
  const HubSubscriber last = world.subscriber(urls[0]);
  ASSERT_EQ(world.run({"remove", "--yes", urls[0]}).exit, 0);
  EXPECT_TRUE(world.hub.await_subscribers(urls[0], 0));
  for (std::int64_t i = 0; i < workers; ++i) {
    EXPECT_EQ(PushWorld::push(last, atom({{"late", "too late"}})).status, 410) << i;
  }
}

TEST_F(Subscribing, AnyWorkerAnswersAnyCallbackAndNoPushIsLostWhenOneIsKilled) {
  constexpr int feeds = 4, pushes = 30;
  std::vector<std::string> urls;
  for (int i = 0; i < feeds; ++i) {
    const std::string path = "/feed" + std::to_string(i);
    urls.push_back(world.add_feed(path, {{"0", "first"}}, world.hub_links(world.http.url(path))));
  }
  PushWorker& one = world.start();
  PushWorker& two = world.start();
  for (const std::string& url : urls) ASSERT_TRUE(world.hub.await_subscribers(url, 1));

  std::vector<std::vector<PushedPost>> published(feeds, {{"0", "first"}});
  std::map<std::string, std::vector<std::string>> accepted;  // feed → guids of pushes that were answered 2xx
  std::size_t refused = 0;
  for (int i = 1; i <= pushes; ++i) {
    for (std::size_t feed = 0; feed < urls.size(); ++feed) {
      const PushedPost post{std::to_string(i), "post " + std::to_string(i)};
      published[feed].push_back(post);
      const std::string path = "/feed" + std::to_string(feed);
      world.serve_posts(path, published[feed], world.hub_links(urls[feed]));
      if (i == pushes / 2 && feed == 2) one.program().signal(SIGKILL);
      for (const HttpAnswer& answer : world.hub.publish(urls[feed], atom({post}))) {
        if (answer.status / 100 == 2)
          accepted[urls[feed]].push_back(post.id);
        else
          ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0U);  // one of the two workers was down
  EXPECT_GT(two.deliveries("fat"), pushes);
  EXPECT_EQ(two.deliveries("unknown"), 0);
  // Pushes that the dead worker took and did not write are due in a minute, or when its claim ends; the test does not
  // wait for that.
  for (const std::string& url : urls) {
    const auto missing = [&] {
      return std::ranges::count_if(accepted[url], [&](const std::string& id) { return world.title(url, id).empty(); });
    };
    if (missing() > 0) {
      const std::string due = world.redis_text({"ZSCORE", "schedule", url}), now = world.redis_text({"TIME"});
      EXPECT_LE(std::stoll(due) / 1000, std::stoll(now) + 150) << url;
      world.redis_text({"ZADD", "schedule", "XX", "1", url});
    }
    EXPECT_TRUE(eventually([&] { return missing() == 0; })) << url << ": " << missing() << " lost";
  }
}

}  // namespace
}  // namespace feedmill::test::websub_test
