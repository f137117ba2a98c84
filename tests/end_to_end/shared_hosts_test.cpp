// A fleet's load on shared hosts, as the hosts see it: announced and discovered quotas (HTTP H10), and the budget of
// overdue feeds (HTTP P12).
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/program.hpp"

namespace feedmill::test::shared_hosts_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A host that counts requests by source address; the contact in the User-Agent plays the part of the address.
class Limiter {
 public:
  struct Seen {
    std::vector<Clock::time_point> served;
    std::size_t refused = 0;
  };

  /// Refuses with `status` any request that comes sooner than `apart` after a served one; `told`: quota headers of
  /// every response.
  Limiter(HttpServer& server, int feeds, milliseconds apart, int status,
          std::vector<std::pair<std::string, std::string>> told = {})
      : apart_(apart), status_(status), told_(std::move(told)) {
    for (int i = 0; i < feeds; ++i) {
      const std::string path = "/" + std::to_string(i) + ".xml";
      urls.push_back(server.url(path));
      server.serve(path, [this](const ServedRequest& request) { return answer(request); });
    }
  }
  void limit(bool limits) {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
  }
  std::map<std::string, Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  std::size_t served() const {
    std::size_t sum = 0;
    for (const auto& [name, seen] : seen()) sum += seen.served.size();
    return sum;
  }

  std::vector<std::string> urls;

 private:
  Response answer(const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    const std::string agent = request.header("User-Agent");
    const std::size_t at = agent.find("https://");
    Seen& seen = seen_[agent.substr(at + 8, agent.find('.', at) - at - 8)];
    const auto now = Clock::now();
    if (limits_ && !seen.served.empty() && now < seen.served.back() + apart_) {
      ++seen.refused;
      return {.status = status_, .headers = told_};
    }
    seen.served.push_back(now);
    return {.headers = told_, .body = rss({{"a", "First"}})};
  }

  const milliseconds apart_;
  const int status_;
  const std::vector<std::pair<std::string, std::string>> told_;
  mutable std::mutex mutex_;
  std::map<std::string, Seen> seen_;
  bool limits_ = true;
};

class SharedHosts : public testing::Test {
 protected:
  SharedHosts() {
    world.environment["FEEDMILL_HOST_CONCURRENCY"] = "1";
    world.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = "0";
  }
  Environment named(const std::string& name) const {
    Environment environment = world.environment;
    environment["FEEDMILL_EGRESS_NAME"] = name;
    environment["FEEDMILL_FETCH_CONTACT"] = "https://" + name + ".example/";
    return environment;
  }
  static bool is_ready(const Program& worker) {
    return eventually([&] { return worker.err().find("event=ready") != std::string::npos; });
  }
  static void stop(Program& worker) {
    worker.signal(SIGTERM);
    const Finished done = worker.wait();
    EXPECT_EQ(done.exit, 0) << done.err;
  }
  void add(const std::vector<std::string>& urls) {
    std::vector<NewFeed> feeds;
    for (const std::string& url : urls) feeds.push_back({.feed_url = url});
    ASSERT_TRUE(Feeds(world.store).add(feeds));
  }
  /// The pace known for the host under this egress name, in milliseconds per request; 0 = none.
  long pace(const std::string& name) const {
    const std::string quota = world.redis_text({"HGET", "state:host:" + world.http.server(), "q:" + name});
    return std::atol(quota.c_str());
  }

  World world;
};

TEST_F(SharedHosts, ThatAnnounceTheirQuotaRefuseNoRequest) {
  Limiter host(world.http, 40, seconds(1), 429, {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1"}});
  Program one({"run"}, named("one")), two({"run"}, named("two"));
  ASSERT_TRUE(is_ready(one) && is_ready(two));
  // One after another: each added feed wakes the worker that has waited longest, but one worker may claim several at
  // once.
  const auto both_came_back = [&] {
    const auto seen = host.seen();
    return seen.size() == 2 && seen.at("one").served.size() >= 2 && seen.at("two").served.size() >= 2;
  };
  std::map<std::string, long> paces;  // recorded on the way, because a pace ends with its reset
  const auto note_paces = [&] {
    for (const char* const name : {"one", "two"}) {
      if (const long told = pace(name); told != 0) paces[name] = told;
    }
  };
  for (std::size_t i = 0; !both_came_back(); ++i) {
    ASSERT_LT(i, host.urls.size()) << one.err() << two.err();
    add({host.urls[i]});
    ASSERT_TRUE(eventually([&] {
      note_paces();
      return host.served() > i;
    })) << one.err()
        << two.err();
  }
  note_paces();
  EXPECT_NE(world.run({"explain", host.urls[0]}).out.find("requests a minute"), std::string::npos)
      << world.run({"explain", host.urls[0]}).out;
  stop(one);
  stop(two);
  for (const auto& [name, seen] : host.seen()) {
    EXPECT_EQ(seen.refused, 0U) << name;
    for (std::size_t i = 1; i < seen.served.size(); ++i)
      EXPECT_GE(seen.served[i] - seen.served[i - 1], seconds(1)) << name;
    EXPECT_EQ(paces[name], 2000) << "a second, and what whole seconds leave open";
  }
}

/// A 429 without a body or quota headers: each address gets one, and leaves the host alone from then on.
TEST_F(SharedHosts, WithoutAnnouncedQuotasAreDiscoveredByEachAddress) {
  Limiter host(world.http, 9, std::chrono::hours(1), 429);
  add({host.urls.begin(), host.urls.end() - 1});
  Program one({"run"}, named("one"));
  ASSERT_TRUE(eventually([&] { return pace("one") >= 4000; })) << one.err();
  stop(one);
  Program two({"run"}, named("two"));
  ASSERT_TRUE(is_ready(two));
  add({host.urls.back()});  // shows that the other name may still ask the host
  ASSERT_TRUE(eventually([&] { return pace("two") >= 16'000; })) << "from that of the other on: " << two.err();
  stop(two);
  for (const auto& [name, seen] : host.seen()) {
    EXPECT_EQ(seen.served.size(), 1U) << name;
    EXPECT_EQ(seen.refused, 1U) << name;
  }
  EXPECT_EQ(world.redis_text({"HGET", "state:host:" + world.http.server(), "closed"}), "(nil)")
      << "that is no refusal of the host";
  EXPECT_EQ(world.run({"verify", "--redis", world.redis.url_of("feedmill_admin")}).exit, 0);
}

/// A 403 for two feeds that were readable before means a quota.
TEST_F(SharedHosts, ThatForbidTwoFeedsMeanAQuota) {
  Limiter host(world.http, 8, std::chrono::hours(1), 403);
  host.limit(false);
  add(host.urls);
  ASSERT_EQ(Program({"run", "--once"}, named("one")).wait().exit, 0);
  EXPECT_EQ(host.seen()["one"].served.size(), 8U);
  EXPECT_EQ(pace("one"), 0);
  host.limit(true);
  ASSERT_TRUE(Feeds(world.store).wake(host.urls, Milliseconds(0), true));
  Program one({"run"}, named("one"));
  ASSERT_TRUE(eventually([&] { return pace("one") >= 4000; })) << one.err();
  stop(one);
  EXPECT_LE(host.seen()["one"].refused, 2U);
  EXPECT_EQ(world.redis_text({"HGET", "state:host:" + world.http.server(), "closed"}), "(nil)");
}

/// HTTP P12: a backlog after a restart; a worker that joins adds no budget of its own.
TEST_F(SharedHosts, AreAskedForABacklogByOneBudget) {
  constexpr int feeds = 160, rate = 20;
  world.environment["FEEDMILL_HOST_CONCURRENCY"] = "64";
  world.environment["FEEDMILL_SCHEDULE_CATCH_UP_RATE"] = std::to_string(rate);
  world.environment["FEEDMILL_SCHEDULE_FLOOR"] = world.environment["FEEDMILL_SCHEDULE_CEILING"] = "1h";
  std::mutex mutex;
  std::vector<Clock::time_point> asked;
  std::vector<std::string> urls;
  for (int i = 0; i < feeds; ++i) {
    const std::string path = "/" + std::to_string(i) + ".xml";
    urls.push_back(world.http.url(path));
    world.http.serve(path, [&](const ServedRequest&) {
      const std::lock_guard lock(mutex);
      asked.push_back(Clock::now());
      return Response{.body = rss({{"a", "First"}})};
    });
  }
  add(urls);
  const std::string an_hour_ago = std::to_string(world.store.now()->count() - 3'600'000);
  for (const std::string& url : urls) world.redis_text({"ZADD", "schedule", "XX", an_hour_ago, url});
  const auto so_many = [&](std::size_t count) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return asked.size() >= count;
    });
  };
  const auto begun = Clock::now();
  std::vector<std::unique_ptr<Program>> workers;
  for (int i = 0; i < 4; ++i)
    workers.push_back(std::make_unique<Program>(std::vector<std::string>{"run"}, world.environment));
  ASSERT_TRUE(so_many(60)) << workers[0]->err();
  workers.push_back(std::make_unique<Program>(std::vector<std::string>{"run"}, world.environment));
  ASSERT_TRUE(so_many(feeds)) << workers[0]->err();
  for (const auto& worker : workers) stop(*worker);
  ASSERT_EQ(asked.size(), static_cast<std::size_t>(feeds)) << "each once";
  // Allows a burst of a quarter of a second plus one. A slow worker asks later, which stays within the bound.
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const double allowed = 0.25 * rate + 1 + rate * std::chrono::duration<double>(asked[i] - begun).count();
    EXPECT_LE(static_cast<double>(i + 1), allowed + 1) << "after " << (asked[i] - begun) / milliseconds(1) << " ms";
  }
}

TEST_F(SharedHosts, RejectInvalidEgressNames) {
  for (const std::string& name : {std::string("-"), std::string("a b"), std::string("a:b"), std::string(33, 'x')}) {
    const Finished refused = world.run({"run", "--once"}, {{"FEEDMILL_EGRESS_NAME", name}});
    EXPECT_EQ(refused.exit, 78) << name;
    EXPECT_NE(refused.err.find("at most 32 letters"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(world.run({"run", "--once"}, {{"FEEDMILL_EGRESS_NAME", std::string(32, 'x')}}).exit, 0);
}

}  // namespace
}  // namespace feedmill::test::shared_hosts_test
