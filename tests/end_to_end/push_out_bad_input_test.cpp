// How the hub handles wrong or hostile requests and callbacks, clock steps and an unavailable Redis: docs/PUSH_OUT.md
// (WEBSUB §10).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/json.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "storage/queues/subscribers.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/dates.hpp"
#include "tests/support/deaf_receivers.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::push_out_bad_input_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

/// A shared feed, and a worker with a public hub.
class HubWorld : public World {
 public:
  explicit HubWorld(const std::vector<std::string>& redis_arguments = {})
      : World(redis_arguments), public_url("http://127.0.0.1:" + std::to_string(free_port())) {
    environment["FEEDMILL_PUSH_OUT_LISTEN"] = public_url.substr(std::string("http://").size());
    environment["FEEDMILL_PUSH_OUT_PUBLIC_URL"] = public_url;
    environment["FEEDMILL_SCHEDULE_FLOOR"] = environment["FEEDMILL_SCHEDULE_CEILING"] = "1h";
    publish({{"1", "first"}});
    feed = http.url("/feed");
    EXPECT_EQ(run({"add", feed}).exit, 0);
    EXPECT_EQ(run({"set", feed, "republish=yes"}).exit, 0);
    refresh();
    const Finished shared = run({"topic", "add", feed, "--json"});
    EXPECT_EQ(shared.exit, 0) << shared.err;
    topic = std::string(json::parse(shared.out.substr(0, shared.out.find('\n'))).at("atom").as_string());
  }

  /// Starts a worker; `more` adds environment variables for it alone.
  void start(const Environment& more = {}) {
    redis_text({"DEL", "lock:push_out"});
    worker = std::make_unique<Program>(
        std::vector<std::string>{"run", "--push-out", "--no-ingest", "--no-deliver", "--listen", "127.0.0.1:0"},
        with(more));
    EXPECT_TRUE(eventually([&] { return redis_text({"EXISTS", "lock:push_out"}) == "1" || worker->ended(); }));
    EXPECT_FALSE(worker->ended()) << worker->err();
  }
  void publish(const std::vector<std::pair<std::string, std::string>>& posts) {
    http.serve("/feed", Response{.headers = {{"Content-Type", "application/rss+xml"}}, .body = rss(posts)});
  }
  void refresh() const { EXPECT_EQ(run({"refresh", feed, "--ignore-floor"}).exit, 0); }

  std::string form(const std::string& callback, const std::string& more = "",
                   const std::string& mode = "subscribe") const {
    return "hub.mode=" + mode + "&hub.topic=" + percent_encoded(topic) + "&hub.callback=" + percent_encoded(callback) +
           more;
  }
  HttpAnswer subscribe(const std::string& callback, const std::string& more = "",
                       const std::string& mode = "subscribe") const {
    return ask({"POST",
                public_url + "/hub",
                {{"Content-Type", "application/x-www-form-urlencoded"}},
                form(callback, more, mode)});
  }

  SubscriberCounts counts() { return *Subscribers(store).counts(); }
  std::uint64_t known() {
    const SubscriberCounts all = counts();
    return all.hub_active + all.hub_pending;
  }
  /// Makes all waiting retries due now.
  void hurry() const {
    redis_text({"EVAL",
                "for _, id in ipairs(redis.call('ZRANGE', 'push_out:due', 0, -1)) do "
                "if not redis.call('HGET', 'push_out:subscriber:' .. id, 'claim') then "
                "redis.call('ZADD', 'push_out:due', 1, id) end end",
                "0"});
  }
  /// Forces retries until no subscription is left; false if some remain.
  bool comes_to_nothing() {
    return eventually([&] {
      hurry();
      return known() == 0;
    });
  }

  const std::string public_url;
  std::string feed, topic;
  std::unique_ptr<Program> worker;
};

/// A subscriber that confirms and accepts deliveries.
class Reader {
 public:
  explicit Reader(const boost::asio::ip::address_v4& address = boost::asio::ip::address_v4::loopback())
      : server(0, address), origin("http://" + address.to_string() + ":" + std::to_string(server.port())) {
    server.serve_rest([this](const ServedRequest& request) { return answer(request); });
  }
  std::string url(const std::string& path) const { return origin + path; }
  std::vector<ServedRequest> posts() const {
    std::vector<ServedRequest> all;
    for (ServedRequest& request : server.requests()) {
      if (request.method == "POST") all.push_back(std::move(request));
    }
    return all;
  }

  HttpServer server;
  const std::string origin;
  std::atomic<int> status = 202;

 private:
  Response answer(const ServedRequest& request) const {
    if (request.method == "POST") return Response{.status = status};
    for (const auto& [name, value] : form_fields(request.target.substr(request.target.find('?') + 1))) {
      if (name == "hub.challenge") return Response{.status = 200, .body = value};
    }
    return Response{.status = 200};
  }
};

std::string challenge_of(const ServedRequest& request) {
  for (const auto& [name, value] : form_fields(request.target.substr(request.target.find('?') + 1))) {
    if (name == "hub.challenge") return value;
  }
  return "";
}

class HubBadInput : public testing::Test {
 protected:
  HubWorld world;
  Reader reader;

  void expect_refused(const std::string& callback, const std::string& why) {
    const HttpAnswer answer = world.subscribe(callback);
    EXPECT_EQ(answer.status, 400) << callback;
    EXPECT_THAT(answer.body, HasSubstr(why)) << callback;
  }
  /// A new post reaches a healthy subscriber.
  void expect_delivered() {
    EXPECT_EQ(world.subscribe(reader.url("/well")).status, 202);
    ASSERT_TRUE(eventually([&] { return world.counts().hub_active >= 1; }));
    world.publish({{"2", "second"}, {"1", "first"}});
    world.refresh();
    ASSERT_TRUE(eventually([&] { return reader.posts().size() == 1; }));
    EXPECT_THAT(reader.posts().at(0).body, HasSubstr("second"));
  }
};

TEST_F(HubBadInput, PrivateAddressesAreRefusedAtOnceAndPrivateNamesAtVerification) {
  world.start({{"FEEDMILL_EGRESS_ALLOW", "192.0.2.0/24:80"}});
  for (const char* closed :
       {"http://10.0.0.1/cb", "http://127.0.0.1/cb", "http://192.168.1.1/cb?x=1", "http://172.16.0.1/", "http://[::1]/",
        "http://[fd00::1]/cb", "http://169.254.169.254/latest", "http://0x0a000001/", "http://167772161/",
        "http://[::ffff:10.0.0.1]/", "http://0.0.0.0/", "https://100.64.0.1/"}) {
    expect_refused(closed, "hub.callback: egress.blocked: ");
  }
  expect_refused("http://192.0.2.1:22/", "hub.callback: egress.");
  EXPECT_EQ(world.known(), 0U);
  const std::string by_name = "http://localhost:" + std::to_string(reader.server.port()) + "/cb";
  EXPECT_EQ(world.subscribe(by_name).status, 202);
  EXPECT_TRUE(world.comes_to_nothing());
  EXPECT_EQ(reader.server.connections(), 0U);
}

TEST_F(HubBadInput, CallbacksThatPointBackAreRejected) {
  world.start();
  for (const std::string& path : {std::string("/hub"), std::string("/hub?x=1"), std::string("/events?topic=x"),
                                  world.topic.substr(world.public_url.size())}) {
    expect_refused(world.public_url + path, "a URL of this hub");
  }
  EXPECT_EQ(world.known(), 0U);
  // Under another name the hub does not recognise its own address, but verification fails: no challenge is echoed.
  const std::string port = world.public_url.substr(world.public_url.rfind(':'));
  for (const std::string& path : {std::string("/hub"), world.topic.substr(world.public_url.size())}) {
    EXPECT_EQ(world.subscribe("http://localhost" + port + path).status, 202);
  }
  EXPECT_EQ(world.subscribe(world.public_url + "/elsewhere").status, 202);
  EXPECT_TRUE(world.comes_to_nothing());
  expect_delivered();
}

TEST_F(HubBadInput, ABadAnswerDoesNotConfirm) {
  world.start({{"FEEDMILL_PUSH_OUT_TIMEOUT", "1s"}});
  HttpServer bad;
  const std::string elsewhere = reader.url("/elsewhere");
  bad.serve("/redirects", [&](const ServedRequest& request) {
    const std::string query = request.target.substr(request.target.find('?'));
    return Response{.status = 302, .headers = {{"Location", elsewhere + query}}};
  });
  bad.serve("/wrong", [](const ServedRequest& request) { return Response{.body = challenge_of(request) + "x"}; });
  bad.serve("/says-nothing", [](const ServedRequest&) { return Response{.body = ""}; });
  bad.serve("/echoes", [](const ServedRequest& request) { return Response{.body = request.target}; });
  bad.serve("/refuses",
            [](const ServedRequest& request) { return Response{.status = 404, .body = challenge_of(request)}; });
  bad.serve("/endless", [](const ServedRequest& request) {
    return Response{.headers = {{"Content-Length", "1073741824"}},
                    .body = challenge_of(request),
                    .then_forever = std::string(64 << 10, 'x')};
  });
  bad.serve("/slow", [](const ServedRequest& request) {
    return Response{.body = challenge_of(request), .drip = std::chrono::milliseconds(300)};
  });
  bad.serve("/silent", [](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  const std::vector<std::string> paths{"/redirects", "/wrong",   "/says-nothing", "/echoes",
                                       "/refuses",   "/endless", "/slow",         "/silent"};
  for (const std::string& path : paths) EXPECT_EQ(world.subscribe(bad.url(path)).status, 202) << path;
  EXPECT_TRUE(world.comes_to_nothing());
  EXPECT_EQ(reader.server.connections(), 0U) << "redirects are not followed";
  for (const std::string& path : paths) EXPECT_EQ(bad.count(path), 1U) << path << ": its site has never confirmed";
  expect_delivered();
  // A new callback is verified once, although another callback of its site has confirmed.
  for (const char* path : {"/slow", "/refuses"}) EXPECT_EQ(world.subscribe(bad.url(path)).status, 202) << path;
  EXPECT_TRUE(eventually([&] {
    world.hurry();
    return world.known() == 1;
  }));
  for (const char* path : {"/slow", "/refuses"}) EXPECT_EQ(bad.count(path), 1U + 1U) << path;
}

TEST_F(HubBadInput, BadReceiversDoNotDelayOthers) {
  world.start({{"FEEDMILL_PUSH_OUT_TIMEOUT", "1s"}});
  HttpServer bad;
  const auto confirming = [](Response answer) {
    return [answer](const ServedRequest& request) {
      return request.method == "GET" ? Response{.body = challenge_of(request)} : answer;
    };
  };
  bad.serve("/redirects", confirming({.status = 302, .headers = {{"Location", reader.url("/elsewhere")}}}));
  bad.serve("/slow", confirming({.body = std::string(100, 'x'), .drip = std::chrono::milliseconds(300)}));
  bad.serve("/endless", confirming({.headers = {{"Content-Length", "1073741824"}},
                                    .body = "x",
                                    .then_forever = std::string(64 << 10, 'x')}));
  for (const char* path : {"/redirects", "/slow", "/endless"}) EXPECT_EQ(world.subscribe(bad.url(path)).status, 202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 3; }));
  expect_delivered();
  // An endless response counts by its status; the other deliveries are retried later.
  const auto failures = [&](const std::string& path) {
    for (const Subscriber& one : *Subscribers(world.store).list(Subscriber::Kind::hub, "", 100)) {
      if (one.url == bad.url(path)) return static_cast<int>(one.failures);
    }
    return -1;
  };
  EXPECT_TRUE(eventually([&] { return failures("/redirects") == 1 && failures("/slow") == 1; }));
  EXPECT_EQ(failures("/endless"), 0);
  EXPECT_EQ(reader.posts().size(), 1U);
}

TEST_F(HubBadInput, SecretsOfNoneUpTo199Bytes) {
  world.start();
  EXPECT_EQ(world.subscribe(reader.url("/none"), "&hub.secret=").status, 202);
  EXPECT_EQ(world.subscribe(reader.url("/long"), "&hub.secret=" + std::string(199, 's')).status, 202);
  EXPECT_EQ(world.subscribe(reader.url("/longer"), "&hub.secret=" + std::string(200, 's')).status, 400);
  for (const char* lease : {"0", "-1", "1h"}) {
    const HttpAnswer answer = world.subscribe(reader.url("/lease"), "&hub.lease_seconds=" + std::string(lease));
    EXPECT_EQ(answer.status, 400) << lease;
    EXPECT_THAT(answer.body, HasSubstr("hub.lease_seconds"));
  }
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 2; }));
  world.publish({{"2", "second"}, {"1", "first"}});
  world.refresh();
  ASSERT_TRUE(eventually([&] { return reader.posts().size() == 2; }));
  for (const ServedRequest& told : reader.posts())
    EXPECT_EQ(told.header("X-Hub-Signature").empty(), told.target == "/none") << told.target;
  // An invalid position in the topic is an error, not an empty page.
  EXPECT_EQ(ask({.url = world.topic + "?before=x"}).status, 400);
  EXPECT_EQ(ask({.url = world.topic + "?before=0:Entry:0"}).status, 200);
}

TEST_F(HubBadInput, RemovingATopicDropsPendingSubscriptions) {
  world.start({{"FEEDMILL_PUSH_OUT_TIMEOUT", "1s"}});
  HttpServer silent;
  silent.serve_rest([](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  EXPECT_EQ(world.subscribe(silent.url("/cb")).status, 202);
  silent.wait_for_requests(1);
  EXPECT_EQ(world.run({"topic", "remove", world.feed, "--yes"}).exit, 0);
  EXPECT_TRUE(world.comes_to_nothing());
  EXPECT_EQ(world.subscribe(silent.url("/cb")).status, 404);
  EXPECT_EQ(ask({.url = world.topic}).status, 404);
}

// Limits per site: callbacks in one registrable domain or one network (U18).
TEST_F(HubBadInput, OneSiteCannotTakeAllSubscriptions) {
  world.start({{"FEEDMILL_PUSH_OUT_PER_SITE", "5"}});
  HttpServer silent;
  silent.serve_rest([](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.subscribe(silent.url("/" + std::to_string(i))).status, 202);
  HttpAnswer more = world.subscribe(silent.url("/5"));
  EXPECT_EQ(more.status, 429);
  EXPECT_EQ(more.header("Retry-After"), "3600");
  EXPECT_THAT(more.body, HasSubstr("too many subscriptions from that domain or network"));
  EXPECT_EQ(world.subscribe(silent.url("/0")).status, 202) << "who is there may ask again";
  EXPECT_EQ(world.subscribe(silent.url("/5"), "", "unsubscribe").status, 404);
  Reader other(boost::asio::ip::make_address_v4("127.0.1.1"));
  EXPECT_EQ(world.subscribe(other.url("/cb")).status, 202) << "another network";
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  // Dropped subscriptions and unsubscriptions free their slots.
  EXPECT_EQ(world.subscribe(other.url("/cb"), "", "unsubscribe").status, 202);
  EXPECT_TRUE(eventually([&] { return world.counts().hub_active == 0; }));
  world.worker->signal(SIGKILL);
  world.worker->wait();
  for (const Subscriber& one : *Subscribers(world.store).list(Subscriber::Kind::hub, "", 100))
    EXPECT_TRUE(*Subscribers(world.store).remove(one.id));
  EXPECT_EQ(world.redis_text({"EXISTS", "push_out:sites"}), "0") << "nothing is counted any more";
}

// A flood from one address at full speed: a bounded number of subscriptions is stored, the rest get Retry-After, and
// healthy subscribers are served.
TEST_F(HubBadInput, AFloodOfSubscriptionsIsBounded) {
  world.start();
  HttpServer silent;
  silent.forget_requests();
  silent.serve_rest([](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  const int many = tries(3'000, 100'000, 100'000);
  std::map<int, int> answers;
  for (int i = 0; i < many; ++i) {
    const HttpAnswer answer = world.subscribe(silent.url("/" + std::to_string(i)));
    ++answers[answer.status];
    if (answer.status == 429 || answer.status == 503) {
      EXPECT_NE(answer.header("Retry-After"), "") << answer.status;
    }
  }
  EXPECT_EQ(answers[202] + answers[429] + answers[503], many);
  EXPECT_LE(world.known(), 1'000U);
  Reader other(boost::asio::ip::make_address_v4("127.0.1.1"));
  ASSERT_TRUE(eventually([&] { return world.subscribe(other.url("/cb")).status == 202; }));
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  world.publish({{"2", "second"}, {"1", "first"}});
  world.refresh();
  EXPECT_TRUE(eventually([&] { return other.posts().size() == 1; }));
}

class HubUnderLoad : public testing::Test {
 protected:
  HubWorld world;

  /// Publishes posts with text that grows sixfold in Atom.
  void publish_large(int from, int count, std::size_t bytes = 1'000'000) {
    std::string text = "<feed xmlns='http://www.w3.org/2005/Atom'><title>Large</title>";
    for (int i = from + count; i-- > from;) {
      text += "<entry><id>large-" + std::to_string(i) + "</id><title>Post " + std::to_string(i) + "</title><updated>" +
              days_ago(1) + "</updated><content>" + std::string(bytes, '"') + "</content></entry>";
    }
    world.http.serve("/feed",
                     Response{.headers = {{"Content-Type", "application/atom+xml"}}, .body = text + "</feed>"});
    world.refresh();
  }
  /// The worker's memory in KiB: "VmHWM", its peak, or "VmRSS".
  std::int64_t memory(const std::string& name) const {
    std::ifstream status("/proc/" + std::to_string(world.worker->pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
    }
    return -1;
  }
};

// WEBSUB U1, SECURITY M5: each page of a topic is one document, however its URL is spelt.
TEST_F(HubUnderLoad, UrlVariantsOfAPageShareOneDocument) {
  publish_large(0, 4);
  world.start();
  const std::int64_t before = memory("VmHWM");
  for (int i = 0; i < 60; ++i) {
    const HttpAnswer answer = ask({"GET", world.topic + "?before=9999999999:x" + std::to_string(i)});
    ASSERT_EQ(answer.status, 200);
    ASSERT_LE(answer.body.size(), std::size_t{2} << 20U);
    EXPECT_THAT(answer.body, HasSubstr("rel=\"self\" href=\"" + world.topic + "\""));
    EXPECT_EQ(answer.header("Content-Length"), std::to_string(answer.body.size()));
  }
  if (!is_sanitized) {
    EXPECT_LE(memory("VmHWM"), before + 100'000);
  }
  EXPECT_EQ(ask({"GET", world.topic + "?before=1x:Entry:1"}).status, 400);
  EXPECT_EQ(ask({"HEAD", world.topic}).header("Content-Length"), std::to_string(ask({"GET", world.topic}).body.size()));
}

// WEBSUB U1: following the links reaches every post exactly once.
TEST_F(HubUnderLoad, LinksOfLargePagesReachEveryPostOnce) {
  publish_large(0, 9, 150'000);
  world.start();
  for (const std::string format : {"atom", "json"}) {
    std::vector<int> times(9, 0);
    std::string url = world.topic.substr(0, world.topic.size() - 4) + format;
    int pages = 0;
    for (; !url.empty() && pages < 20; ++pages) {
      const HttpAnswer answer = ask({"GET", url});
      ASSERT_EQ(answer.status, 200) << url;
      ASSERT_LE(answer.body.size(), std::size_t{2} << 20U);
      for (std::size_t i = 0; i < times.size(); ++i)
        times[i] += answer.body.find("Post " + std::to_string(i)) != answer.body.npos;
      const std::string mark = format == "atom" ? "rel=\"next\" href=\"" : "\"next_url\":\"";
      const auto at = answer.body.find(mark);
      url = at == answer.body.npos
                ? ""
                : answer.body.substr(at + mark.size(), answer.body.find('"', at + mark.size()) - at - mark.size());
    }
    EXPECT_EQ(times, std::vector<int>(9, 1)) << format;
    if (format == "atom") {
      EXPECT_GT(pages, 3);
    }
  }
}

// WEBSUB U9, SECURITY M5: a document for many receivers is held in memory once, and counted while it is sent.
TEST_F(HubUnderLoad, ReceiversThatDoNotReadShareOneDocument) {
  DeafReceivers deaf;
  Reader reader;
  world.start();
  EXPECT_EQ(world.subscribe(reader.url("/well")).status, 202);
  constexpr std::size_t many = 40;
  for (std::size_t i = 1; i <= many; ++i)
    EXPECT_EQ(world.subscribe("http://127.0." + std::to_string(i) + ".1:" + std::to_string(deaf.port()) + "/cb").status,
              202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == many + 1; }));
  const std::int64_t before = memory("VmHWM");
  publish_large(0, 3);
  ASSERT_TRUE(eventually([&] { return deaf.posts() >= many && !reader.posts().empty(); }));
  std::size_t posts = 0;
  ASSERT_TRUE(eventually([&] {
    posts = 0;
    for (const ServedRequest& one : reader.posts()) {
      EXPECT_LE(one.body.size(), std::size_t{1} << 20U);
      for (int i = 0; i < 3; ++i) posts += one.body.find("Post " + std::to_string(i)) != one.body.npos;
    }
    return posts == 3;
  }));
  if (!is_sanitized) {
    EXPECT_LE(memory("VmHWM"), before + 120'000);
  }
}

// WEBSUB U19
TEST_F(HubUnderLoad, ASiteThatNeverConfirmedIsAskedTenTimesAndThenLeftAlone) {
  world.start();
  HttpServer victim;
  victim.serve_rest([](const ServedRequest&) { return Response{.status = 500}; });
  for (int i = 0; i < 200; ++i) {
    const int status = world.subscribe(victim.url("/" + std::to_string(i))).status;
    EXPECT_TRUE(status == 202 || status == 429) << status;
  }
  const auto closed = [&] { return world.subscribe(victim.url("/more")).status == 429; };
  ASSERT_TRUE(eventually(closed));
  const HttpAnswer more = world.subscribe(victim.url("/more"));
  const int wait = std::stoi(more.header("Retry-After"));
  EXPECT_GT(wait, 500);
  EXPECT_LE(wait, 600);
  EXPECT_THAT(more.body, HasSubstr("did not confirm"));
  EXPECT_TRUE(world.comes_to_nothing());
  EXPECT_EQ(victim.requests().size(), 10U);
  Reader other(boost::asio::ip::make_address_v4("127.0.1.1"));
  EXPECT_EQ(world.subscribe(other.url("/cb")).status, 202) << "another network";
  EXPECT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
}

// WEBSUB U19: a callback at a new address is limited like a new callback.
TEST_F(HubUnderLoad, CallbacksThatMoveToAThirdPartyAreAskedRarelyAndKeepTheirDeliveries) {
  constexpr std::size_t many = 30;
  DnsServer names;
  std::atomic<bool> moved = false;
  names.serve_rest([&](const std::string&) { return DnsAnswer{.addresses = {moved ? "127.0.2.1" : "127.0.1.1"}}; });
  Reader own(boost::asio::ip::make_address_v4("127.0.1.1"));
  HttpServer victim(own.server.port(), boost::asio::ip::make_address_v4("127.0.2.1"));
  victim.serve_rest(
      [](const ServedRequest& request) { return Response{.status = request.method == "POST" ? 202 : 500}; });
  const auto heard = [&](const std::string& method) {
    return std::ranges::count(victim.requests(), method, &ServedRequest::method);
  };
  const auto subscribe_all = [&] {
    for (std::size_t i = 0; i < many; ++i) {
      const std::string callback =
          "http://n" + std::to_string(i) + ".mover.example:" + std::to_string(own.server.port()) + "/cb";
      EXPECT_EQ(world.subscribe(callback).status, 202);
    }
  };
  world.start({{"FEEDMILL_DNS_SERVERS", names.address()}});
  subscribe_all();
  ASSERT_TRUE(eventually([&] {
    world.hurry();
    return world.counts().hub_active == many;
  }));
  // All may renew at the address that confirmed.
  const std::size_t before = own.server.requests().size();
  subscribe_all();
  ASSERT_TRUE(eventually([&] {
    world.hurry();
    return own.server.requests().size() == before + many;
  }));
  world.worker.reset();  // and its memory of names
  moved = true;
  world.start({{"FEEDMILL_DNS_SERVERS", names.address()}});
  subscribe_all();
  publish_large(0, 1, 10);
  ASSERT_TRUE(eventually([&] {
    world.hurry();
    return heard("POST") == many;
  })) << heard("POST");
  EXPECT_LE(heard("GET"), 10);
  EXPECT_EQ(world.counts().hub_active, many);
}

// WEBSUB U19
TEST_F(HubUnderLoad, InventedCallbacksDoNotHinderRenewals) {
  world.start();
  Reader reader;
  EXPECT_EQ(world.subscribe(reader.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  HttpServer failing;  // in the same network
  failing.serve_rest([](const ServedRequest&) { return Response{.status = 500}; });
  for (int i = 0; i < 30; ++i) EXPECT_EQ(world.subscribe(failing.url("/" + std::to_string(i))).status, 202);
  ASSERT_TRUE(eventually([&] {
    world.hurry();
    return failing.requests().size() == 10;
  }));
  const std::size_t before = reader.server.requests().size();
  EXPECT_EQ(world.subscribe(reader.url("/cb")).status, 202);
  EXPECT_TRUE(eventually([&] { return reader.server.requests().size() == before + 1; }));
  EXPECT_EQ(failing.requests().size(), 10U);
}

// WEBSUB U14: at most a quarter of the lanes verify.
TEST_F(HubUnderLoad, VerificationsThatHangDelayNoDelivery) {
  world.start({{"FEEDMILL_PUSH_OUT_AT_ONCE", "8"}, {"FEEDMILL_PUSH_OUT_TIMEOUT", "30s"}});
  Reader reader;
  EXPECT_EQ(world.subscribe(reader.url("/cb")).status, 202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  HttpServer mute(0, boost::asio::ip::address_v4::any());
  mute.serve_rest([](const ServedRequest&) { return Response{.silent = true, .end = Response::End::hang}; });
  for (int i = 1; i <= 40; ++i) {
    const std::string address = "http://127.1." + std::to_string(i) + ".1:" + std::to_string(mute.port());
    EXPECT_EQ(world.subscribe(address + "/cb").status, 202);
  }
  ASSERT_TRUE(eventually([&] { return mute.connections() >= 2; }));
  publish_large(0, 1);
  EXPECT_TRUE(eventually([&] { return !reader.posts().empty(); }));
  EXPECT_LE(mute.connections(), 2U);
}

/// Clients in many networks ask the workers' hub, through a proxy, to verify callbacks of a third party.
class HubAmplifier : public HubUnderLoad {
 protected:
  /// Requests that the third party gets within a minute of the first, while at least 1,500 subscriptions arrive.
  /// `domain`: each callback has its own host name in it; "" = one IP address. `confirmed`: another callback in that
  /// domain has confirmed a subscription.
  std::size_t requests_in_a_minute(std::size_t workers, const std::string& domain = "", bool confirmed = false) {
    using Clock = std::chrono::steady_clock;
    std::mutex mutex;
    std::vector<Clock::time_point> heard;
    HttpServer victim(0, boost::asio::ip::make_address_v4(domain.empty() ? "127.0.0.3" : "127.0.0.1"));
    victim.serve_rest([&](const ServedRequest&) {
      const std::lock_guard lock(mutex);
      heard.push_back(Clock::now());
      return Response{.status = 500};
    });
    const Environment trusting{{"FEEDMILL_PUSH_OUT_TRUSTED_PROXIES", "127.0.0.1"}};
    std::vector<std::string> hubs{world.public_url};
    std::vector<std::unique_ptr<Program>> more;
    world.start(trusting);
    for (std::size_t i = 1; i < workers; ++i) {
      const std::string address = "127.0.0.1:" + std::to_string(free_port());
      Environment environment = trusting;
      environment["FEEDMILL_PUSH_OUT_LISTEN"] = address;
      more.push_back(std::make_unique<Program>(
          std::vector<std::string>{"run", "--push-out", "--no-ingest", "--no-deliver", "--listen", "127.0.0.1:0"},
          world.with(environment)));
      hubs.push_back("http://" + address);
      EXPECT_TRUE(eventually([&] { return ask({.url = hubs.back() + "/nothing"}).status == 404; })) << more[0]->err();
    }
    if (confirmed) {
      const std::string port = reader.url("").substr(reader.url("").rfind(':'));
      EXPECT_EQ(world.subscribe("http://confirms" + domain + port + "/cb").status, 202);
      EXPECT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
    }
    std::map<int, int> answers;
    const auto is_over = [&] {
      const std::lock_guard lock(mutex);
      return !heard.empty() && Clock::now() - heard.front() > std::chrono::minutes(1);
    };
    for (int i = 0; i < 1'500 || !is_over(); ++i) {
      const std::string client = "198.18." + std::to_string(i % 200) + ".1";
      const HttpAnswer answer =
          ask({"POST",
               hubs[static_cast<std::size_t>(i) % hubs.size()] + "/hub",
               {{"Content-Type", "application/x-www-form-urlencoded"}, {"X-Forwarded-For", client}},
               world.form("http://" + (domain.empty() ? "127.0.0.3" : "n" + std::to_string(i) + domain) + ":" +
                          std::to_string(victim.port()) + "/cb?" + std::to_string(i))});
      ++answers[answer.status];
      if (i >= 1'500) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (const auto& [status, count] : answers) std::printf("%d: %d times; ", status, count);
    const std::lock_guard lock(mutex);
    const auto in_time = std::ranges::count_if(
        heard, [&](Clock::time_point at) { return at - heard.front() <= std::chrono::minutes(1); });
    std::printf("%td requests in the first minute, by %zu workers\n", in_time, workers);
    return static_cast<std::size_t>(in_time);
  }

  Reader reader;
};

// WEBSUB U19
TEST_F(HubAmplifier, Of1500SubscriptionsMakesTwelveRequestsAtMostInAMinute) {
  EXPECT_LE(requests_in_a_minute(1), 12U);
}

TEST_F(HubAmplifier, NamesOfOneNetworkShareItsLimit) {
  EXPECT_LE(requests_in_a_minute(1, ".localhost"), 12U);
}

TEST_F(HubAmplifier, OneConfirmationLiftsNoLimitOfItsNetwork) {
  EXPECT_LE(requests_in_a_minute(1, ".amp.localhost", true), 12U);
}

TEST_F(HubAmplifier, OfTwoWorkersMakesTwiceAsManyAtMost) {
  EXPECT_LE(requests_in_a_minute(2), 24U);
}

// SECURITY W8: with a trusted proxy each client has its own share.
TEST_F(HubUnderLoad, AFloodOfOneClientKeepsNoOtherOut) {
  world.start({{"FEEDMILL_PUSH_OUT_TRUSTED_PROXIES", "127.0.0.1"}});
  const auto from = [](const std::string& client) {
    return std::vector<std::pair<std::string, std::string>>{{"X-Forwarded-For", client}};
  };
  std::atomic<bool> ended = false;
  std::atomic<int> refused = 0;
  std::vector<std::thread> flood;
  for (int i = 0; i < 6; ++i) {
    flood.emplace_back([&] {
      while (!ended) {
        if (ask({"GET", world.public_url + "/nothing", from("1.2.3.4, 203.0.113.7")}).status == 429) ++refused;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return refused > 100; }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ask({"GET", world.topic, from("198.51.100." + std::to_string(i))}).status, 200);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // Checked during the flood, because the client's share refills as soon as it ends.
  EXPECT_TRUE(eventually([&] {
    return ask({"GET", world.topic, from("203.0.113.99")}).header("Retry-After") == "5";
  })) << "the same /24";
  ended = true;
  for (std::thread& one : flood) one.join();
}

class HubWithoutRedis : public testing::Test {
 protected:
  HubWorld world{{"--appendonly", "yes", "--appendfsync", "always"}};
  Reader reader;
};

TEST_F(HubWithoutRedis, Answers503AndRecoversOnItsOwn) {
  world.start();
  EXPECT_EQ(world.subscribe(reader.url("/one")).status, 202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  EXPECT_EQ(ask({.url = world.topic}).status, 200);
  world.redis.kill();
  world.redis.start();
  // The restart is not noticed yet: the first request finds a dead connection.
  EXPECT_EQ(world.subscribe(reader.url("/two")).status, 202);
  world.redis.kill();
  const HttpAnswer away = world.subscribe(reader.url("/three"));
  EXPECT_EQ(away.status, 503);
  EXPECT_NE(away.header("Retry-After"), "");
  EXPECT_EQ(ask({.url = world.topic + "?before=1:Entry:1"}).status, 503);
  const std::string token = world.topic.substr(world.topic.find("/t/") + 3, 26);
  EXPECT_EQ(ask({.url = world.public_url + "/events?topic=" + token}).status, 503);
  world.redis.start();
  EXPECT_EQ(world.subscribe(reader.url("/three")).status, 202);
  world.store = Store(StoreOptions{.url = world.redis.url()});
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 3; }));
  world.publish({{"2", "second"}, {"1", "first"}});
  world.refresh();
  EXPECT_TRUE(eventually([&] { return reader.posts().size() == 3; }));
}

/// Sets the wall clock of the worker and Redis; it continues from any time that a test sets.
class SetClock {
 public:
  SetClock() {
    path = (std::filesystem::temp_directory_path() / "feedmill-clock-XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0 || ftruncate(fd, sizeof(std::int64_t)) != 0) std::abort();
    clock_ = static_cast<std::atomic<std::int64_t>*>(
        mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    clock_->store(real() + ahead_);
    ticking_ = std::jthread([this](const std::stop_token& end) {
      while (!end.stop_requested()) {
        clock_->store(real() + ahead_);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    setenv("SET_CLOCK", path.c_str(), 1);
    setenv("LD_PRELOAD", FEEDMILL_SET_CLOCK, 1);
  }
  ~SetClock() {
    let_go();
    ticking_ = {};
    munmap(clock_, sizeof(std::int64_t));
    std::filesystem::remove(path);
  }
  SetClock(const SetClock&) = delete;
  SetClock& operator=(const SetClock&) = delete;

  /// Programs started from now on use the real clock, unless their environment sets SET_CLOCK.
  static void let_go() {
    unsetenv("LD_PRELOAD");
    unsetenv("SET_CLOCK");
  }
  void put(std::chrono::seconds ahead) { ahead_ = std::chrono::microseconds(ahead).count(); }

  std::string path;

 private:
  static std::int64_t real() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }

  std::atomic<std::int64_t>* clock_ = nullptr;
  std::atomic<std::int64_t> ahead_ = 0;
  std::jthread ticking_;
};

TEST(HubWithASteppingClock, DeliversNewPostsAndEndsLeasesByTheCurrentClock) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer wants to be preloaded first";
  using namespace std::chrono_literals;
  SetClock clock;
  HubWorld world({"--loglevel", "warning"});  // its Redis uses the set clock
  SetClock::let_go();
  world.environment["LD_PRELOAD"] = FEEDMILL_SET_CLOCK;
  world.environment["SET_CLOCK"] = clock.path;
  Reader reader, hook;
  clock.put(48h);
  world.start();
  EXPECT_EQ(world.subscribe(reader.url("/cb"), "&hub.lease_seconds=7200").status, 202);
  ASSERT_TRUE(eventually([&] { return world.counts().hub_active == 1; }));
  EXPECT_EQ(world.run({"webhook", "add", hook.url("/hook"), "--type", "post_created"}).exit, 0);
  const auto real_now = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const auto stamp = [&](std::size_t index) {
    return std::chrono::seconds(std::stoll(hook.posts().at(index).header("webhook-timestamp")));
  };

  clock.put(24h);  // a step back, but not before the earlier fetches
  const std::chrono::seconds back = real_now() + 24h;
  world.publish({{"2", "second"}, {"1", "first"}});
  world.refresh();
  ASSERT_TRUE(eventually([&] { return reader.posts().size() == 1 && hook.posts().size() == 1; }));
  EXPECT_GE(stamp(0), back - 1s) << "a try says when this machine thinks that it was made";
  EXPECT_LE(stamp(0), back + 10min);

  // Retries follow the wall clock: a step ahead makes them due at once.
  hook.status = 503;
  world.publish({{"3", "third"}, {"2", "second"}, {"1", "first"}});
  world.refresh();
  ASSERT_TRUE(eventually([&] { return hook.posts().size() == 2 && reader.posts().size() == 2; }));
  const auto failing = [&] {
    const auto all = Subscribers(world.store).list(Subscriber::Kind::webhook, "", 10);
    return all && all->size() == 1 && all->front().failures == 1 && all->front().due.has_value();
  };
  ASSERT_TRUE(eventually(failing));
  hook.status = 200;
  clock.put(49h);
  ASSERT_TRUE(eventually([&] { return hook.posts().size() == 3; }));
  EXPECT_EQ(hook.posts().at(1).header("webhook-id"), hook.posts().at(2).header("webhook-id"));
  EXPECT_GE(stamp(2) - stamp(1), 24h);
  EXPECT_EQ(world.counts().hub_active, 1U) << "its lease goes on";

  clock.put(51h);
  EXPECT_TRUE(eventually([&] {
    world.publish({{"4", "fourth"}, {"3", "third"}, {"2", "second"}, {"1", "first"}});
    world.refresh();
    return world.counts().hub_active == 0;
  })) << "it has ended";
  EXPECT_EQ(reader.posts().size(), 2U) << "and nothing more is told";
}

}  // namespace
}  // namespace feedmill::test::push_out_bad_input_test
