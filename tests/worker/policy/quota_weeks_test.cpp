// Days of a fleet at a host with a quota, in seconds: the real policy and store, a publisher in memory, and a store
// clock that the test advances (HTTP H10).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/set_clock.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill::quota_weeks_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Milliseconds begin = seconds(1'772'366'417);  // not a full minute

struct Answer {
  int status = 200;
  std::vector<Header> headers{};
  std::optional<Reason> unreadable{};  ///< the document's fault, if any
};

/// How a host answers a request for a feed from an address.
using Publisher = std::function<Answer(const std::string& address, const std::string& feed_url, Milliseconds now)>;

/// Allows one request a minute from each address.
class Limiter {
 public:
  struct Habit {
    bool tells = false;  ///< sends x-ratelimit-* with every answer; windows begin with the minute
    int refusal = 429;
  };

  explicit Limiter(Habit habit) : habit_(habit) {}

  Answer ask(const std::string& address, Milliseconds now) {
    Milliseconds& last = last_[address];
    const bool over = habit_.tells ? now / minutes(1) == last / minutes(1) : now - last < minutes(1);
    Answer answer{over ? habit_.refusal : 200};
    if (!over) last = now;
    if (habit_.tells) {
      const auto left = minutes(1) - now % minutes(1);
      answer.headers = {{"x-ratelimit-remaining", "0.0"},
                        {"x-ratelimit-used", "1"},
                        {"x-ratelimit-reset", std::to_string(left / seconds(1))}};
    }
    (over ? refused[address] : served[address]).push_back(now);
    return answer;
  }

  std::map<std::string, std::vector<Milliseconds>> served, refused;

 private:
  Habit habit_;
  std::map<std::string, Milliseconds> last_;
};

class Fleet {
 public:
  Fleet(Publisher publisher, std::vector<std::string> names, int feeds)
      : publisher_(std::move(publisher)), names_(std::move(names)), store_(StoreOptions{.url = redis_.server().url()}) {
    const auto opened = store_.open();
    EXPECT_TRUE(opened) << opened.error().detail;
    std::vector<NewFeed> added;
    for (int i = 0; i < feeds; ++i) {
      urls.push_back("https://host.test/" + std::to_string(i) + ".xml");
      added.push_back({.feed_url = urls.back()});
    }
    EXPECT_TRUE(Feeds(store_).add(added));
    options_.schedule.ceiling = hours(1);
    for (std::size_t worker = 0; worker < names_.size(); ++worker) plan({begin, Kind::poll, worker, {}, 0});
  }

  void run_until(Milliseconds end) {
    while (events_.top().at < end && !testing::Test::HasFatalFailure()) {
      const Event event = events_.top();
      events_.pop();
      redis_.set(event.at);
      event.kind == Kind::poll ? poll(event) : answer(event);
    }
  }

  std::vector<FeedState> states() {
    std::vector<FeedState> all;
    for (auto& record : *Feeds(store_).records(urls)) all.push_back(std::move(record->state));
    return all;
  }

  std::vector<std::string> urls;
  std::map<std::string, int> told;               ///< number of feed events, by type
  std::map<std::string, Milliseconds> answered;  ///< when each feed was last read
  int storms = 0, ended = 0;

 private:
  enum class Kind { poll, answer };
  struct Event {
    Milliseconds at{};
    Kind kind{};
    std::size_t worker = 0;
    Claim claim;
    int number = 0;
    bool operator<(const Event& other) const { return std::tie(at, number) > std::tie(other.at, other.number); }
  };

  void plan(Event event) {
    event.number = ++numbers_;
    events_.push(std::move(event));
  }

  void poll(const Event& event) {
    ClaimRequest request;
    request.worker = std::string(32, static_cast<char>('a' + event.worker));
    request.request = static_cast<std::uint64_t>(event.number);
    request.max = 16;
    request.host = {1, seconds(1), names_[event.worker]};
    const auto batch = Ingest(store_).claim(request);
    ASSERT_TRUE(batch) << batch.error().detail;
    for (const Claim& claim : batch->claims) {
      EXPECT_GE(event.at - last_start_, seconds(1)) << "HTTP P15";
      EXPECT_EQ(in_flight_++, 0) << "HTTP P15";
      last_start_ = event.at;
      plan({event.at + Milliseconds(between(50, 900)), Kind::answer, event.worker, claim, 0});
    }
    // Workers poll in random order.
    const Milliseconds next = std::clamp<Milliseconds>(batch->next_due.value_or(event.at + minutes(10)),
                                                       event.at + Milliseconds(500), event.at + minutes(10));
    plan({next + Milliseconds(between(0, 50)), Kind::poll, event.worker, {}, 0});
  }

  void answer(const Event& event) {
    --in_flight_;
    const Answer said = publisher_(names_[event.worker], event.claim.feed_url, event.at - Milliseconds(between(0, 49)));
    Exchange exchange;
    exchange.requested_url = event.claim.feed_url;
    exchange.headers = said.headers;
    Reading reading = NotModified();
    Claim claim = event.claim;
    if (said.status != 200) reading = HttpStatus{said.status};
    if (said.unreadable) reading = Unreadable{*said.unreadable, "", {}};
    claim.state.rhythm.new_per_week = 40;  // polled every hour
    claim.state.rhythm.last_new = claim.state.rhythm.imported = event.at;
    const bool is_served = said.status == 200 && !said.unreadable;
    if (is_served) answered[claim.feed_url] = event.at;
    Decision decision = decide(claim, std::move(reading), exchange, {}, options_, event.at);
    decision.commit.host.document = is_served;
    for (const FeedEvent& one : decision.commit.events) ++told[one.type];
    const Commit* const commit = &decision.commit;
    const auto done = Ingest(store_).commit(std::span(&commit, 1)).front();
    ASSERT_TRUE(done) << done.error().detail;
    ASSERT_EQ(done->result, Committed::Result::ok);
    if (done->circuit == Committed::Circuit::storm) ++storms;
    if (done->circuit == Committed::Circuit::storm_over) ++ended;
  }

  int between(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  const Publisher publisher_;
  const std::vector<std::string> names_;
  test::ClockedRedis redis_{begin};
  Store store_;
  PolicyOptions options_;
  std::priority_queue<Event> events_;
  std::mt19937 random_{19};
  Milliseconds last_start_{};
  int in_flight_ = 0, numbers_ = 0;
};

std::size_t count_within(const std::vector<Milliseconds>& times, Milliseconds from, Milliseconds to) {
  return static_cast<std::size_t>(
      std::ranges::count_if(times, [&](Milliseconds at) { return at >= begin + from && at < begin + to; }));
}

const int crowd = test::tries(75, 300, 300);  // feeds for each name

struct Course {
  const char* name;
  Limiter::Habit habit;
  std::vector<std::string> names;
};

void PrintTo(const Course& course, std::ostream* out) {
  *out << course.name;
}

class Quotas : public testing::TestWithParam<Course> {};

TEST_P(Quotas, OfAHostAreUsedAndKept) {
  const Course& course = GetParam();
  const std::set<std::string> names(course.names.begin(), course.names.end());
  const int feeds = std::min(crowd * static_cast<int>(names.size()), 300);
  // Stated quotas are learnt within an hour, others within a day.
  const Milliseconds settled = course.habit.tells ? Milliseconds(hours(1)) : Milliseconds(days(1));
  const Milliseconds played = course.habit.tells ? hours(test::tries(5, 168, 168)) : hours(test::tries(27, 168, 168));
  Limiter publisher(course.habit);
  Fleet fleet(
      [&](const std::string& address, const std::string&, Milliseconds now) { return publisher.ask(address, now); },
      course.names, feeds);
  fleet.run_until(begin + played);
  for (const std::string& name : names) {
    const auto& served = publisher.served[name];
    const auto& refused = publisher.refused[name];
    const auto used = static_cast<double>(count_within(served, settled, played)) /
                      static_cast<double>((played - settled) / minutes(1));
    std::printf("%s \"%s\": %zu served, %zu refused, %.1f %% of the quota used; refused by day:", course.name,
                name.c_str(), served.size(), refused.size(), used * 100);
    for (int day = 0; days(day) < played; ++day) std::printf(" %zu", count_within(refused, days(day), days(day + 1)));
    std::printf("\n");
    if (course.habit.tells) {
      EXPECT_LE(count_within(refused, hours(1), played), 1U);
      EXPECT_GE(used, 0.95);
    } else {
      for (int day = 1; days(day) < played; ++day) {
        EXPECT_LE(count_within(refused, days(day), days(day + 1)), 1U) << "day " << day;
      }
      EXPECT_GE(used, 0.8);
    }
  }
}

const std::vector<std::string> alike{"", "", "", ""}, two_and_two{"one", "one", "two", "two"};
INSTANTIATE_TEST_SUITE_P(
    Hosts, Quotas,
    testing::Values(Course{"Told", {true, 429}, alike}, Course{"ToldTo2", {true, 429}, two_and_two},
                    Course{"Untold", {false, 429}, alike}, Course{"UntoldTo2", {false, 429}, two_and_two},
                    Course{"Forbidden", {false, 403}, alike}, Course{"ForbiddenTo2", {false, 403}, two_and_two}),
    [](const auto& test) { return std::string(test.param.name); });

// HTTP H11
TEST(Storms, OfThreeDaysCostTwoInAHundredRequestsAndNoFeedItsHealth) {
  const int channels = test::tries(200, 2000, 2000);
  const Milliseconds before = hours(4), length = hours(test::tries(24, 72, 72));
  std::size_t usual = 0, asked = 0;
  const Publisher publisher = [&](const std::string&, const std::string&, Milliseconds now) {
    const bool is_storm = now >= begin + before && now < begin + before + length;
    if (is_storm) ++asked;
    if (now >= begin + hours(2) && now < begin + before) ++usual;
    return Answer{is_storm ? 404 : 200};
  };
  Fleet fleet(publisher, {"", ""}, channels);
  fleet.run_until(begin + before + length);
  const double usually = static_cast<double>(usual) * static_cast<double>(length / hours(2));
  std::printf("%zu requests in the storm, usually %.0f: %.2f %%\n", asked, usually,
              100 * static_cast<double>(asked) / usually);
  EXPECT_LE(static_cast<double>(asked), 0.02 * usually);
  EXPECT_EQ(fleet.storms, 1);
  EXPECT_EQ(fleet.ended, 0);
  for (const FeedState& state : fleet.states()) EXPECT_EQ(state.state, "healthy");

  // One interval, its spread, and one second for each feed.
  fleet.run_until(begin + before + length + minutes(66) + seconds(channels));
  EXPECT_EQ(fleet.ended, 1);
  for (const std::string& url : fleet.urls) EXPECT_GE(fleet.answered[url], begin + before + length) << url;
  EXPECT_EQ(fleet.told["feed_failing"], 0);
}

TEST(Storms, AreOverAfterAWeekForFeedsThatStayAway) {
  const Publisher publisher = [&](const std::string&, const std::string&, Milliseconds now) {
    return Answer{now >= begin + hours(4) ? 404 : 200};
  };
  Fleet fleet(publisher, {""}, 20);
  fleet.run_until(begin + days(7));
  EXPECT_EQ(fleet.told["feed_failing"], 0);
  fleet.run_until(begin + days(20));
  EXPECT_EQ(fleet.storms, 1);
  EXPECT_EQ(fleet.ended, 1);
  EXPECT_EQ(fleet.told["feed_failing"], 20);
}

TEST(Storms, AreNoneOfAFeedAmongManyNorOfAFewFeeds) {
  const int many = test::tries(20, 50, 50);
  for (const auto& [feeds, gone] : {std::pair{many, 1}, std::pair{many, 4}, std::pair{4, 4}}) {
    const Publisher publisher = [&, gone = gone](const std::string&, const std::string& url, Milliseconds now) {
      const int number = std::atoi(url.substr(url.rfind('/') + 1).c_str());
      return Answer{now >= begin + hours(4) && number < gone ? 404 : 200};
    };
    Fleet fleet(publisher, {""}, feeds);
    fleet.run_until(begin + days(12));
    EXPECT_EQ(fleet.storms, 0) << feeds;
    EXPECT_EQ(fleet.told["feed_failing"], gone) << feeds;
  }
}

struct Trouble {
  const char* name;
  Answer answer;
  bool is_storm;
};

void PrintTo(const Trouble& trouble, std::ostream* out) {
  *out << trouble.name;
}

class Troubles : public testing::TestWithParam<Trouble> {};

/// All feeds of a host fail alike for six hours.
TEST_P(Troubles, AreStormsOrNot) {
  const Trouble& trouble = GetParam();
  const Publisher publisher = [&](const std::string&, const std::string&, Milliseconds now) {
    const bool troubled = now >= begin + hours(4) && now < begin + hours(10);
    return troubled ? trouble.answer : Answer{};
  };
  Fleet fleet(publisher, {"", ""}, 20);
  fleet.run_until(begin + hours(10));
  EXPECT_EQ(fleet.storms, trouble.is_storm ? 1 : 0);
  const std::vector<FeedState> states = fleet.states();
  const auto failed = std::ranges::count_if(states, [](const FeedState& state) { return state.failures.count > 0; });
  EXPECT_EQ(failed, trouble.is_storm ? 5 : 20) << "of a storm those that showed it";
  for (const FeedState& state : states) {
    EXPECT_LE(state.failures.count, trouble.is_storm ? 1 : 2);
    if (trouble.is_storm) {
      EXPECT_EQ(state.state, "healthy");
    }
  }
  if (!trouble.is_storm) return;
  fleet.run_until(begin + hours(10) + minutes(66) + seconds(20));
  EXPECT_EQ(fleet.ended, 1);
  EXPECT_EQ(fleet.told["feed_failing"], 0);
  for (const std::string& url : fleet.urls) EXPECT_GE(fleet.answered[url], begin + hours(10)) << url;
}

INSTANTIATE_TEST_SUITE_P(Hosts, Troubles,
                         testing::Values(Trouble{"NotFound", {404}, true}, Trouble{"ServerError", {500}, true},
                                         Trouble{"BadGateway", {502}, true},
                                         Trouble{"PageInsteadOfAFeed", {200, {}, Reason::parse_not_a_feed}, true},
                                         Trouble{"Nothing", {200, {}, Reason::parse_empty}, true},
                                         Trouble{"Gone", {410}, false}, Trouble{"Legal", {451}, false}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace feedmill::quota_weeks_test
