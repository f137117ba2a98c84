// Days of a fleet at a host with a quota, in seconds: policy and store as they are, a publisher in memory, and a clock
// of the store's that the test moves on (HTTP H10).
#include <algorithm>
#include <cstdio>
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
#include "storage/feeds/hosts.hpp"
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

constexpr Milliseconds begin = seconds(1'772'366'417);  // no full minute

/// One request a minute for each address.
class Publisher {
 public:
  struct Habit {
    bool tells = false;  ///< x-ratelimit-* with every answer, and windows that begin with the minute
    int refusal = 429;
  };
  struct Answer {
    int status = 200;
    std::vector<Header> headers;
  };

  explicit Publisher(Habit habit) : habit_(habit) {}

  Answer ask(const std::string& address, Milliseconds now) {
    Milliseconds& last = last_[address];
    const bool over = habit_.tells ? now / minutes(1) == last / minutes(1) : now - last < minutes(1);
    Answer answer{over ? habit_.refusal : 200, {}};
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
  Fleet(Publisher& publisher, std::vector<std::string> names, int feeds)
      : publisher_(publisher), names_(std::move(names)), store_(StoreOptions{.url = redis_.server().url()}) {
    const auto opened = store_.open();
    EXPECT_TRUE(opened) << opened.error().detail;
    std::vector<NewFeed> added;
    for (int i = 0; i < feeds; ++i) {
      added.push_back({.feed_url = "https://reddit.test/r/" + std::to_string(i) + ".rss"});
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

  HostState host() {
    const std::string gate = "reddit.test";
    return *Hosts(store_).state(gate);
  }

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
    // Who comes first is chance.
    const Milliseconds next = std::clamp<Milliseconds>(batch->next_due.value_or(event.at + minutes(1)),
                                                       event.at + Milliseconds(500), event.at + minutes(1));
    plan({next + Milliseconds(between(0, 50)), Kind::poll, event.worker, {}, 0});
  }

  void answer(const Event& event) {
    --in_flight_;
    const Publisher::Answer said = publisher_.ask(names_[event.worker], event.at - Milliseconds(between(0, 49)));
    Exchange exchange;
    exchange.requested_url = event.claim.feed_url;
    exchange.headers = said.headers;
    Reading reading = NotModified();
    Claim claim = event.claim;
    if (said.status != 200) reading = HttpStatus{said.status};
    if (said.status == 200) claim.state.rhythm.new_per_week = 40;  // asked for every hour
    if (said.status == 200) claim.state.rhythm.last_new = event.at;
    Decision decision = decide(claim, std::move(reading), exchange, {}, options_, event.at);
    // What a 200 notes of its host: it serves.
    if (said.status == 200) decision.commit.host.document = true;
    const Commit* const commit = &decision.commit;
    const auto done = Ingest(store_).commit(std::span(&commit, 1)).front();
    ASSERT_TRUE(done) << done.error().detail;
    ASSERT_EQ(done->result, Committed::Result::ok);
  }

  int between(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  Publisher& publisher_;
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

const int length = test::tries(3, 7, 7);  // days
const int feeds = test::tries(120, 300, 300);

struct Course {
  const char* name;
  Publisher::Habit habit;
  std::vector<std::string> names;
};

void PrintTo(const Course& course, std::ostream* out) {
  *out << course.name;
}

class Quotas : public testing::TestWithParam<Course> {};

TEST_P(Quotas, OfAHostAreUsedAndKept) {
  const Course& course = GetParam();
  Publisher publisher(course.habit);
  Fleet fleet(publisher, course.names, feeds);
  fleet.run_until(begin + days(length));
  for (const std::string& name : std::set<std::string>(course.names.begin(), course.names.end())) {
    const auto& served = publisher.served[name];
    const auto& refused = publisher.refused[name];
    const Milliseconds settled = course.habit.tells ? Milliseconds(hours(1)) : Milliseconds(days(1));
    const auto used = static_cast<double>(count_within(served, settled, days(length))) /
                      static_cast<double>((Milliseconds(days(length)) - settled) / minutes(1));
    std::printf("%s \"%s\": %zu served, %zu refused, %.1f %% of the quota used; refused by day:", course.name,
                name.c_str(), served.size(), refused.size(), used * 100);
    for (int day = 0; day < length; ++day) std::printf(" %zu", count_within(refused, days(day), days(day + 1)));
    std::printf("\n");
    if (course.habit.tells) {
      EXPECT_LE(count_within(refused, hours(1), days(length)), 1U);
      EXPECT_GE(used, 0.95);
    } else {
      for (int day = 1; day < length; ++day) {
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

}  // namespace
}  // namespace feedmill::quota_weeks_test
