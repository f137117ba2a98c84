#include "worker/verbs/plan.hpp"

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::plan_test {
namespace {

using namespace std::chrono_literals;

constexpr Milliseconds start{1'767'225'600'000};

PlanOptions options_of(unsigned days) {
  PlanOptions options;
  options.start = start;
  options.days = days;
  options.catch_up_rate = 200;
  return options;
}

std::vector<PlannedFeed> made_up_feeds(std::uint64_t count, std::string_view host = "") {
  std::vector<PlannedFeed> feeds;
  for (std::uint64_t i = 0; i < count; ++i) feeds.push_back(made_up_feed(i, count, host, {}, start));
  return feeds;
}

Plan simulate(const std::vector<PlannedFeed>& feeds, const PlanOptions& options,
              const std::function<void(std::size_t)>& each_hour = {}) {
  Simulation simulation(options);
  for (const PlannedFeed& feed : feeds) simulation.add(feed);
  return simulation.run(each_hour);
}

/// A feed of `host` that was polled an hour ago and is due at `due`.
PlannedFeed feed_of(const std::string& host, int number, Milliseconds due, double new_per_week = 100) {
  PlannedFeed feed;
  feed.host = host;
  feed.url = "https://" + host + "/" + std::to_string(number);
  feed.new_per_week = new_per_week;
  feed.due = due;
  feed.last_at = feed.last_new = start - 1h;
  feed.fetched = feed.validators = true;
  return feed;
}

std::uint64_t sum(const std::vector<std::uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

TEST(Plan, OfAWeekPollsNoFeedEarlyAndSpreadsThePolls) {
  const Plan plan = simulate(made_up_feeds(10'000), options_of(7));
  EXPECT_EQ(plan.feeds, 10'000U);
  EXPECT_EQ(plan.early, 0U);
  EXPECT_EQ(plan.by_hour.size(), 7U * 24);
  EXPECT_EQ(sum(plan.by_hour), plan.requests);
  EXPECT_EQ(plan.conditional, plan.requests);
  EXPECT_GT(plan.requests, 7U * 10'000) << "once a day each at the least";
  EXPECT_LT(plan.requests, 7U * 24 * 10'000) << "once an hour each at the most";
  for (const std::uint64_t hour : plan.by_hour) {
    EXPECT_GT(hour, plan.requests / plan.by_hour.size() / 2);
    EXPECT_LT(hour, plan.requests / plan.by_hour.size() * 2);
  }
  EXPECT_LT(plan.busiest_second_requests, 12 + 4 * plan.requests / (7 * 86'400UL));
  EXPECT_TRUE(plan.do_not_fit.empty());
}

TEST(Plan, IsTheSameForTheSameFeeds) {
  EXPECT_EQ(simulate(made_up_feeds(3'000), options_of(2)), simulate(made_up_feeds(3'000), options_of(2)));
}

TEST(Plan, PollsAFeedWhenTheScheduleSays) {
  // Without new posts the rate only decays, and each due time follows from the one before.
  const PlannedFeed feed = feed_of("a.example", 1, start + 5min, 0);
  Milliseconds at = feed.due;
  std::uint64_t polls = 0;
  while (at < start + 5 * 24h) {
    ++polls;
    DueContext context;
    context.phase = phase_of(feed.url);
    context.now = at;
    context.last_new = feed.last_new;
    at = due_after_success({}, context, 0, {}).due;
  }
  EXPECT_EQ(simulate({feed}, options_of(5)).requests, polls);
  EXPECT_EQ(polls, 5U);
}

TEST(Plan, ObeysWhatTheOperatorAndTheDocumentAskFor) {
  PlannedFeed often = feed_of("a.example", 1, start), seldom = often, polite = often;
  seldom.interval_min = 12h;
  polite.hints.ttl_s = 6 * 3600L;
  EXPECT_GE(simulate({often}, options_of(1)).requests, 20U);
  EXPECT_EQ(simulate({seldom}, options_of(1)).requests, 2U);
  EXPECT_EQ(simulate({polite}, options_of(1)).requests, 4U);
}

TEST(Plan, KeepsTheSpacingOfAHost) {
  std::vector<PlannedFeed> feeds;
  for (int i = 0; i < 200; ++i) feeds.push_back(feed_of("one.example", i, start + 1min));
  for (int i = 0; i < 50; ++i) feeds.push_back(feed_of("other" + std::to_string(i) + ".example", i, start + 90s));
  PlanOptions options = options_of(1);
  const Plan plan = simulate(feeds, options);
  EXPECT_EQ(plan.busiest_second_requests, 51U) << "50 hosts and one of the crowded one";
  EXPECT_EQ(plan.busiest_second, 90s);
  EXPECT_EQ(plan.latest, 199s);
  EXPECT_EQ(plan.early, 0U);
  ASSERT_EQ(plan.busiest.size(), 10U);
  EXPECT_EQ(plan.busiest.front().host, "one.example");
  EXPECT_EQ(plan.busiest.front().feeds, 200U);
  options.hosts = HostRules(HostLimits{1, 0ms});
  const Plan unlimited = simulate(feeds, options);
  EXPECT_EQ(unlimited.busiest_second_requests, 200U);
  EXPECT_EQ(unlimited.deferrals, 0U);
}

TEST(Plan, ObeysSettingsOfHostsAndHostGroups) {
  Config config;
  config.host.concurrency = 1;
  config.host.spacing = 1s;
  config.hosts["slow.example"].spacing = 30s;
  config.hosts["seldom.example"].min_interval = 12h;
  config.host_groups["mirrors"].hosts = {"a.example", "b.example"};
  PlanOptions options = options_of(1);
  options.hosts = HostRules(config);
  const auto of = [&](std::string_view host) {
    std::vector<PlannedFeed> feeds;
    for (int i = 0; i < 10; ++i) feeds.push_back(feed_of(std::string(host), i, start + 1min, 0));
    return feeds;
  };
  EXPECT_EQ(simulate(of("slow.example"), options).latest, 270s);
  EXPECT_EQ(simulate({feed_of("seldom.example", 1, start)}, options).requests, 2U);

  std::vector<PlannedFeed> mirrors = of("a.example");
  for (PlannedFeed& feed : of("b.example")) mirrors.push_back(std::move(feed));
  const Plan plan = simulate(std::move(mirrors), options);
  EXPECT_EQ(plan.hosts, 1U) << "one gate";
  EXPECT_EQ(plan.latest, 19s);
  EXPECT_EQ(plan.busiest.front().host, "group:mirrors");
}

// HTTP H10
TEST(Plan, ReckonsWithLearnedQuotas) {
  Config config;
  config.host.concurrency = 1;
  config.host.spacing = 1s;
  config.hosts["by-hand.example"].spacing = 2s;
  PlanOptions options = options_of(1);
  options.hosts = HostRules(config);
  HostState host;
  EXPECT_EQ(learned_pace(host), 0ms);
  host.quotas = {{"one", 1min, {}, {}, true}, {"two", 1min, {}, {}, false}};
  EXPECT_EQ(learned_pace(host), 30s) << "each name has its own";
  for (const char* gate : {"paced.example", "by-hand.example"}) options.hosts.learn(gate, learned_pace(host));
  const auto of = [&](const std::string& name) {
    std::vector<PlannedFeed> feeds;
    for (int i = 0; i < 10; ++i) feeds.push_back(feed_of(name, i, start + 1min, 0));
    return feeds;
  };
  EXPECT_EQ(simulate(of("paced.example"), options).latest, 270s);
  EXPECT_EQ(simulate(of("by-hand.example"), options).latest, 18s) << "what is set wins";
}

TEST(Plan, CatchesUpAtItsPaceAfterAnOutage) {
  std::vector<PlannedFeed> feeds;
  for (int i = 0; i < 1000; ++i) {
    feeds.push_back(feed_of("h" + std::to_string(i) + ".example", i, start - 1h - i * 1s));
  }
  PlanOptions options = options_of(1);
  options.catch_up_rate = 100;
  const Plan plan = simulate(feeds, options);
  EXPECT_EQ(plan.busiest_second_requests, 100U);
  EXPECT_EQ(plan.early, 0U);
  options.catch_up_rate = 0;
  EXPECT_EQ(simulate(feeds, options).busiest_second_requests, 1000U);
}

TEST(Plan, NamesHostsWithTooManyFeeds) {
  const auto load = [](int count) {
    std::vector<PlannedFeed> feeds;  // dormant enough for one poll a day, and due after the horizon
    for (int i = 0; i < count; ++i) feeds.push_back(feed_of("big.example", i, start + 48h, 0));
    return simulate(std::move(feeds), options_of(1)).do_not_fit;
  };
  const auto crowded = load(100'000);
  ASSERT_EQ(crowded.size(), 1U);
  EXPECT_EQ(crowded.front().host, "big.example");
  EXPECT_EQ(crowded.front().possible_a_day, 86'400);
  EXPECT_GT(crowded.front().wanted_a_day, 86'400);
  EXPECT_TRUE(load(1'000).empty());
  EXPECT_TRUE(simulate(made_up_feeds(1'000, "small.example"), options_of(1)).do_not_fit.empty());
}

TEST(Plan, CountsAFirstFetchAndServersWithoutValidatorsAsUnconditional) {
  PlannedFeed fresh = feed_of("a.example", 1, start), bare = feed_of("b.example", 2, start);
  fresh.fetched = false;
  fresh.last_at = fresh.last_new = {};
  bare.validators = false;
  const Plan first = simulate({fresh}, options_of(1));
  EXPECT_EQ(first.requests - first.conditional, 1U);
  EXPECT_EQ(simulate({bare}, options_of(1)).conditional, 0U);
}

TEST(Plan, EstimatesTheResourcesNeeded) {
  Plan plan;
  plan.feeds = 1'000'000;
  plan.by_hour.assign(48, 360'000);  // 100 a second
  plan.requests = 48 * 360'000UL;
  plan.bringing = plan.requests / 4;
  const Needs needs = needs_of(plan, 50);
  EXPECT_EQ(needs.event_loops, 1U);
  EXPECT_GT(needs.loop_use, 0.01);
  EXPECT_LT(needs.loop_use, 0.1);
  EXPECT_GT(needs.loop_use, needs.redis_use);
  EXPECT_GT(needs.redis_bytes_least, 100e9);
  EXPECT_GT(needs.redis_bytes, 1.5 * static_cast<double>(needs.redis_bytes_least)) << "posts of the real web";
  EXPECT_EQ(needs.redis_bytes_full, needs.redis_bytes);
  EXPECT_EQ(needs.redis_primaries, 11U) << "by memory";
  plan.by_hour[20] *= 60;
  EXPECT_NEAR(needs_of(plan, 50).loop_use, 60 * needs.loop_use, 1e-9) << "the busiest hour is what counts";
  EXPECT_GT(needs_of(plan, 50).event_loops, 1U);
  EXPECT_GT(needs_of(plan, 1).redis_primaries, 1U) << "by what they work";
  EXPECT_EQ(needs_of(plan, 50).received_bytes, needs.received_bytes);
  plan.bringing = 0;
  EXPECT_LT(needs_of(plan, 50).received_bytes, needs.received_bytes / 4);
  EXPECT_EQ(needs_of(Plan(), 50).event_loops, 1U);
  EXPECT_EQ(needs_of(Plan(), 50).redis_primaries, 1U);
}

TEST(Plan, ReckonsWithTheMemoryOfStoredPosts) {
  Plan plan;
  plan.feeds = 600'000;
  StoredFeeds stored{.feeds = 1'000'000, .posts = 20'000'000, .bytes = 40'000'000'000, .use = {}};  // some are paused
  stored.use.feeds = 100;
  stored.use.posts = 600;
  stored.use.posts_a_feed = 25;
  stored.use.feed_bytes = 2'000;
  stored.use.post_bytes = 3'000;
  stored.use.values_bytes = 2'000;
  const Needs needs = needs_of(plan, 50, stored);
  EXPECT_NEAR(static_cast<double>(needs.redis_bytes), 62e9, 1e9);
  EXPECT_NEAR(static_cast<double>(needs.redis_bytes_full), 152e9, 1e9);
  EXPECT_EQ(needs.redis_bytes_least, needs.redis_bytes_full);
  EXPECT_EQ(needs_of(plan, 10, stored).redis_bytes_full, needs.redis_bytes) << "feeds that list more keep more";
  stored.bytes *= 2;
  EXPECT_NEAR(static_cast<double>(needs_of(plan, 50, stored).redis_bytes), 102e9, 1e9)
      << "larger than the measured ones";
  stored.posts = stored.bytes = 0;
  stored.use.posts = 0;
  EXPECT_NEAR(static_cast<double>(needs_of(plan, 50, stored).redis_bytes), 2e9, 1e8) << "not fetched yet";
  EXPECT_GT(needs_of(plan, 50, stored).redis_bytes_full, 100e9);
}

TEST(Plan, TellsTheHoursThatHavePassed) {
  std::vector<std::size_t> hours;
  simulate(made_up_feeds(10), options_of(2), [&](std::size_t hour) { hours.push_back(hour); });
  ASSERT_EQ(hours.size(), 48U);
  EXPECT_EQ(hours.back(), 47U);
  const auto stop = [](std::size_t hour) {
    if (hour == 3) throw hour;
  };
  EXPECT_THROW(simulate(made_up_feeds(10), options_of(2), stop), std::size_t);
}

TEST(PlannedFeeds, AreWhatTheStoreHas) {
  FeedRecord record;
  record.feed_url = "https://a.example/feed";
  EXPECT_FALSE(planned_feed(record)) << "not in the schedule";
  record.due = start;
  record.state.address.fetch_url = "https://b.example/feed";
  record.state.settings = R"({"interval_min":7200})";
  record.state.document.hints = "3600 0 0 0";
  record.state.rhythm.new_per_week = 3;
  const auto never = planned_feed(record);
  ASSERT_TRUE(never);
  EXPECT_EQ(never->host, "b.example");
  EXPECT_EQ(never->interval_min, 2h);
  EXPECT_EQ(never->hints.ttl_s, 3600);
  EXPECT_FALSE(never->fetched);
  EXPECT_TRUE(never->validators) << "assumed";
  record.state.last.at = start - 1h;
  EXPECT_FALSE(planned_feed(record)->validators);
  record.state.validators.etag = "\"x\"";
  EXPECT_TRUE(planned_feed(record)->validators);
}

}  // namespace
}  // namespace feedmill::plan_test
