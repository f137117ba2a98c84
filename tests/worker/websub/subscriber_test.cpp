// Requests to a hub do not wait for other hubs, however slow those are; and polling resumes when a lease ends.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "tests/worker/websub/websub_fixture.hpp"

namespace feedmill::test::subscriber_test {
namespace {

const Response never{.silent = true, .end = Response::End::hang};

/// Two hubs on separate hosts, each with `feeds` feeds. fall_silent() makes one accept requests without answering.
class TwoHubs : public WebSubTest {
 protected:
  static constexpr std::size_t feeds = 100, per_hub = 4;

  TwoHubs() {
    configure = [](WebSub::Options& options) {
      options.subscriber.spacing = 10ms;
      options.subscriber.wall = 10min;  // nothing times out while a test runs
      options.subscriber.lease = 1h;
      options.drain = 0ms;
    };
  }

  void add_feeds() {
    for (std::size_t i = 0; i < feeds; ++i) {
      const std::string one = "/of-silent/" + std::to_string(i), other = "/of-healthy/" + std::to_string(i);
      of_silent.push_back(add_feed(one, {{"1", "first"}}, hub_links(publisher.url(one), at_silent)));
      of_healthy.push_back(add_feed(other, {{"1", "first"}}, hub_links(publisher.url(other))));
    }
  }
  void subscribe_all() {
    add_feeds();
    start();
    for (const std::string& url : of_silent) ASSERT_TRUE(other_hub.await_subscribers(url, 1));
    for (const std::string& url : of_healthy) ASSERT_TRUE(hub.await_subscribers(url, 1));
    ASSERT_TRUE(becomes([&] { return hub.verifications().size() == feeds; }));
  }
  void fall_silent() {
    asked_before = silent.count("/hub");
    silent.serve("/hub", never);
  }
  /// Expects that the silent hub still holds its `per_hub` requests: the other hub did not wait for their end.
  void expect_silence_unbroken() {
    EXPECT_TRUE(becomes([&] { return silent.count("/hub") == asked_before + per_hub; })) << silent.count("/hub");
    for (const std::string& url : of_silent) {
      const auto records = Feeds(store).records(std::span(&url, 1));
      ASSERT_TRUE(records);
      if (!records->front()) continue;  // removed
      EXPECT_EQ(records->front()->state.push.standing.tries, 0U) << url;
    }
  }

  HttpServer silent{authority.issue({.names = {"DNS:silent.example"}})};
  std::string at_silent = silent.url("silent.example", "/hub");
  WebSubHub other_hub{silent};
  std::size_t asked_before = 0;
  std::vector<std::string> of_silent, of_healthy;

  void SetUp() override { names.serve("silent.example", {.addresses = {"127.0.0.1"}}); }
};

TEST_F(TwoHubs, SubscriptionsAtOneDoNotWaitForTheOther) {
  fall_silent();
  add_feeds();
  start();
  for (const std::string& url : of_healthy) ASSERT_TRUE(hub.await_subscribers(url, 1)) << url;
  expect_silence_unbroken();
}

TEST_F(TwoHubs, RenewalsAtOneDoNotWaitForTheOther) {
  subscribe_all();
  fall_silent();
  for (const auto* urls : {&of_silent, &of_healthy}) {
    for (const std::string& url : *urls) {
      redis_command(redis,
                    {"HSET", "websub:callback:" + record(url).state.push.standing.subscription, "renew_at", "1"});
      redis_command(redis, {"ZADD", "websub:due", "XX", "1", url});
    }
  }
  ASSERT_TRUE(hub.await_requests(2 * feeds));
  for (const HttpAnswer& answer : hub.verifications()) EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(hub.verifications().size(), 2 * feeds);
  expect_silence_unbroken();
}

TEST_F(TwoHubs, UnsubscriptionsAtOneDoNotWaitForTheOther) {
  subscribe_all();
  fall_silent();
  for (const std::string& url : of_silent) ASSERT_TRUE(*Feeds(store).remove(url));
  for (const std::string& url : of_healthy) ASSERT_TRUE(*Feeds(store).remove(url));
  for (const std::string& url : of_healthy) ASSERT_TRUE(hub.await_subscribers(url, 0)) << url;
  expect_silence_unbroken();
}

TEST_F(TwoHubs, StoppingDoesNotWaitForOneThatIsSilent) {
  fall_silent();
  add_feeds();
  start();
  ASSERT_TRUE(becomes([&] { return silent.count("/hub") == per_hub; }));
  asio::post(loop, [this] { websub->stop(); });
  EXPECT_EQ(running.wait_for(60s), std::future_status::ready);
}

// A domain with many hubs is limited to its share of the requests.
TEST_F(TwoHubs, OfOneDomainAreFewAtOnce) {
  HttpServer many(authority.issue({.names = {"DNS:*.slow.example"}}));
  many.serve("/hub", never);
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string path = "/of-many/" + std::to_string(i), name = "h" + std::to_string(i % 10) + ".slow.example";
    names.serve(name, {.addresses = {"127.0.0.1"}});
    add_feed(path, {{"1", "first"}}, hub_links(publisher.url(path), many.url(name, "/hub")));
  }
  for (std::size_t i = 0; i < feeds; ++i) {
    const std::string path = "/of-healthy/" + std::to_string(i);
    of_healthy.push_back(add_feed(path, {{"1", "first"}}, hub_links(publisher.url(path))));
  }
  start();
  for (const std::string& url : of_healthy) ASSERT_TRUE(hub.await_subscribers(url, 1)) << url;
  EXPECT_EQ(many.count("/hub"), 8U);
}

// WEBSUB S5: however many hubs lead to a host, and however often it redirects within itself.
TEST_F(TwoHubs, RedirectsTakeTurnsWhereTheyLead) {
  configure = [](WebSub::Options& options) {
    options.subscriber.spacing = 1h;
    options.drain = 0ms;
  };
  HttpServer third(authority.issue({.names = {"DNS:third.example"}}));
  names.serve("third.example", {.addresses = {"127.0.0.1"}});
  third.serve("/1", Response{.status = 307, .headers = {{"Location", "/2"}}});
  third.serve("/2", Response{.status = 500});
  HttpServer leading(authority.issue({.names = {"DNS:*.leads.example"}}));
  leading.serve("/hub", Response{.status = 307, .headers = {{"Location", third.url("third.example", "/1")}}});
  std::vector<std::string> urls;
  for (const std::string name : {"a.leads.example", "b.leads.example", "c.leads.example"}) {
    names.serve(name, {.addresses = {"127.0.0.1"}});
    const std::string path = "/" + name;
    urls.push_back(add_feed(path, {{"1", "first"}}, hub_links(publisher.url(path), leading.url(name, "/hub"))));
  }
  start();
  for (const std::string& url : urls) {
    EXPECT_TRUE(becomes([&] { return record(url).state.push.standing.tries == 1; })) << url;
    EXPECT_EQ(record(url).state.push.standing.note, "leads to third.example, which may not be asked now");
  }
  EXPECT_EQ(leading.count("/hub"), 3U);
  EXPECT_EQ(third.count("/1"), 1U);
  EXPECT_EQ(third.count("/2"), 0U);
}

/// How a hub answers renewals: the first `times` with `status`, all others with 202 and no verification.
struct Refusals {
  std::string name;
  std::size_t times = 0;
  int status = 500;
  std::string retry_after{};
};

/// WEBSUB L2 in virtual time: stored times are moved back between looks at a subscription.
class Leases : public WebSubTest, public testing::WithParamInterface<Refusals> {
 protected:
  std::int64_t number(const std::vector<std::string>& words) { return std::stoll(redis_command(redis, words)); }
  std::int64_t next_look(const std::string& url) { return number({"ZSCORE", "websub:due", url}); }
  std::int64_t of_subscription(const std::string& url, const std::string& field) {
    return number({"HGET", "websub:callback:" + record(url).state.push.standing.subscription, field});
  }
  void pass(std::int64_t time) {
    constexpr const char* script = R"lua(
for _, key in ipairs(redis.call('KEYS', 'websub:callback:*')) do
  for _, field in ipairs({'lease_end', 'renew_at', 'pending_since', 'ask_at'}) do
    if redis.call('HEXISTS', key, field) == 1 then redis.call('HINCRBY', key, field, -ARGV[1]) end
  end
end
for _, member in ipairs(redis.call('ZRANGE', 'websub:due', 0, -1)) do redis.call('ZINCRBY', 'websub:due', -ARGV[1], member) end)lua";
    redis_command(redis, {"EVAL", script, "0", std::to_string(time)});
  }
  /// A feed with reliable pushes; it is next polled in six hours.
  std::string healthy_feed(const std::string& path) {
    const std::string url = subscribed_feed(path);
    for (int i = 2; i <= 4; ++i) push_and_wait(url, atom({{std::to_string(i), "one more"}}));
    refresh(url);
    EXPECT_EQ(record(url).state.push.standing.state, "healthy");
    EXPECT_GT(*record(url).due, *store.now() + 5h);
    return url;
  }
  void refuse(std::size_t asked) {
    const Refusals& how = GetParam();
    HubHabits habits{.verifies = false};
    if (asked < how.times) habits.status = how.status;
    if (asked < how.times && !how.retry_after.empty()) habits.headers = {{"Retry-After", how.retry_after}};
    hub.behave(habits);
  }
};

TEST_P(Leases, ThatEndWithoutRenewalLeavePollingAtItsPaceAtOnce) {
  for (const std::chrono::seconds lease : {300s, 7'200s, 86'400s, 864'000s, 2'592'000s}) {
    const std::string length = std::to_string(lease.count());
    hub.behave({.lease_seconds = length});
    const std::string url = healthy_feed("/lease" + length);
    const std::size_t before = hub.requests().size();
    std::size_t looks = 0;
    std::int64_t planned = 0, lease_end = 0;
    while (record(url).state.push.standing.state == "healthy") {
      ASSERT_LT(++looks, 60U) << length;
      const std::size_t asked = hub.requests().size();
      refuse(asked - before);
      lease_end = of_subscription(url, "lease_end");
      planned = next_look(url);
      ASSERT_LE(planned, lease_end) << length << ", look " << looks;
      const std::uint32_t tries = record(url).state.push.standing.tries;
      pass(planned - store.now()->count());
      const bool told_later = asked - before < GetParam().times;  // a refusal has to be stored as well
      ASSERT_TRUE(becomes([&] {
        return record(url).state.push.standing.tries != tries || (!told_later && hub.requests().size() != asked);
      })) << length
          << ", look " << looks;
    }
    EXPECT_EQ(planned, lease_end) << length;
    EXPECT_GE(hub.requests().size(), before + 1) << length;
    EXPECT_EQ(record(url).state.push.standing.state, "failed");
    EXPECT_LE(*record(url).due, *store.now()) << length << ": it is polled at once";
    EXPECT_EQ(record(url).state.due.reason, "websub_fallback");
    // The hub is not asked again for at least a day, nor within its Retry-After.
    EXPECT_GT(next_look(url), store.now()->count() + 23 * 3'600'000L) << length;
    const bool to_be_left_alone = !GetParam().retry_after.empty();
    EXPECT_GE(next_look(url), to_be_left_alone ? of_subscription(url, "ask_at") : 0) << length;
    ASSERT_TRUE(*Feeds(store).remove(url));
    redis_command(redis, {"DEL", "websub:due"});
  }
}

INSTANTIATE_TEST_SUITE_P(All, Leases,
                         testing::Values(Refusals{"WithoutVerification"}, Refusals{"FailingOnce", 1},
                                         Refusals{"FailingTwice", 2}, Refusals{"Failing", 1000},
                                         Refusals{"AskingForAWeek", 1000, 503, "604800"},
                                         Refusals{"OverItsLimit", 1000, 429}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill::test::subscriber_test
