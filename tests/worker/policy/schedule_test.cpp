#include "worker/policy/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::schedule_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Milliseconds now = seconds(1'772'366'400);  // Sun, 01 Mar 2026 12:00:00 GMT
constexpr std::int64_t minute = 60, hour = 3600, day = 24 * hour;
const std::string feed_url = "https://example.org/feed.xml";

/// Q of HTTP §3 step 7.
Milliseconds spread_of(Milliseconds interval) {
  return std::clamp<Milliseconds>(interval / 10, seconds(6), minutes(30));
}

/// A feed that had something new an hour ago.
DueContext a_context() {
  DueContext context;
  context.phase = phase_of(feed_url);
  context.now = now;
  context.last_new = now - hours(1);
  return context;
}

Freshness max_age(std::int64_t fresh_s) {
  return {seconds(fresh_s), fresh_s > 0 ? "max_age" : "", "max-age=" + std::to_string(fresh_s)};
}

void expect_interval(const NextDue& next, std::int64_t interval_s, std::string_view due_reason,
                     const std::string& name) {
  const Milliseconds interval = seconds(interval_s);
  EXPECT_GE(next.due, now + interval) << name;
  EXPECT_LT(next.due, now + interval + spread_of(interval)) << name;
  EXPECT_EQ(next.due_reason, due_reason) << name;
}

bool lists(const NextDue& next, std::string_view code, std::int64_t input_s) {
  return std::any_of(next.inputs.begin(), next.inputs.end(),
                     [&](const DueInput& input) { return input.code == code && input.seconds == input_s; });
}

// HTTP §3, "Steady state".
// HTTP §3 step 4
TEST(Due, ComesInHalfTheTimeAfterAGap) {
  DueContext context;
  context.phase = phase_of("https://example.org/feed.xml");
  context.now = Milliseconds(1'772'366'400'000);
  context.last_new = context.now;
  const auto interval = [&](double new_per_week, bool gap) {
    context.gap = gap;
    const NextDue next = due_after_success({}, context, new_per_week, {});
    return std::pair(std::chrono::floor<std::chrono::minutes>(next.due - context.now).count(), next.due_reason);
  };
  const auto [usual, because] = interval(7, false);
  const auto [half, gap] = interval(7, true);
  EXPECT_EQ(because, "adaptive");
  EXPECT_EQ(gap, "gap");
  EXPECT_NEAR(static_cast<double>(half), static_cast<double>(usual) / 2, 30.0);
  EXPECT_GE(interval(100, true).first, 60) << "never below the floor";
  EXPECT_EQ(interval(100, true).second, "floor");
}

TEST(Schedule, AsksLessOftenOfFeedsThatSayLess) {
  struct Case {
    double new_per_week;
    std::int64_t interval_s;
    const char* due_reason;
  };
  const Case cases[] = {{0, day, "ceiling"},           {0.01, day, "ceiling"},   {1 / std::log(2), day, "ceiling"},
                        {2.02, 86386, "adaptive"},     {5, 34900, "adaptive"},   {10, 17450, "adaptive"},
                        {30.3, 5759, "adaptive"},      {48.4, 3605, "adaptive"}, {48.48, hour, "floor"},
                        {1000, hour, "floor"},         {-1, day, "ceiling"},     {1e300, hour, "floor"},
                        {std::nan(""), day, "ceiling"}};
  for (const Case& c : cases) {
    expect_interval(due_after_success({}, a_context(), c.new_per_week, {}), c.interval_s, c.due_reason,
                    std::to_string(c.new_per_week));
  }
}

TEST(Schedule, SettlesAtTheFiguresOfASteadyPublisher) {
  struct Case {
    const char* name;
    double posts_per_week;
    double hours;  // between polls
  };
  for (const Case& c : {Case{"weekly", 1, 24}, Case{"daily", 7, 4.8}, Case{"three a day", 21, 1.6},
                        Case{"34 a week", 34, 1}, Case{"hourly", 168, 1}}) {
    const double posts_per_ms = c.posts_per_week / (7.0 * 86'400'000);
    DueContext context = a_context();
    double rate = 0, seen = 0;
    const Milliseconds settled = now + days(70), end = settled + days(140);
    int polls = 0;
    while (context.now < end) {
      const double published = std::floor(static_cast<double>((context.now - now).count()) * posts_per_ms);
      const auto found = static_cast<std::uint32_t>(published - seen);
      seen = published;
      if (found > 0) context.last_new = context.now;
      const NextDue next = due_after_success({}, context, rate += found, {});
      if (context.now >= settled) ++polls;
      rate = decayed_rate(rate, next.due - context.now, 0);
      context.now = next.due;
    }
    const double mean = 140.0 * 24 / polls;
    EXPECT_GE(mean, c.hours * 0.97) << c.name;
    EXPECT_LE(mean, c.hours * 1.12) << c.name;  // the phase adds 5 % on average
  }
}

// HTTP P6
TEST(Schedule, LetsFreshnessLowerTheFloor) {
  struct Case {
    const char* name;
    std::int64_t fresh_s, min_floor_s, floor_s;
    bool opened;
    std::int64_t interval_s;
    const char* due_reason;
  };
  const Case cases[] = {
      {"nothing stated", 0, 10 * minute, hour, false, hour, "floor"},
      {"20 min", 20 * minute, 10 * minute, hour, false, 20 * minute, "floor"},
      {"below min_floor", 5 * minute, 10 * minute, hour, false, 10 * minute, "floor"},
      {"one second", 1, 10 * minute, hour, false, 10 * minute, "floor"},
      {"an operator's higher min_floor", 20 * minute, 30 * minute, hour, false, 30 * minute, "floor"},
      {"an operator's lower min_floor is for own servers", 1, 1, hour, false, 10 * minute, "floor"},
      {"a floor of a second too", 0, 1, 1, false, 10 * minute, "floor"},
      {"own server, one second", 1, 1, hour, true, 174, "adaptive"},
      {"own server, nothing stated", 0, 1, hour, true, hour, "floor"},
      {"own server, floor of a second", 0, 1, 1, true, 174, "adaptive"},
      {"own server, no less than min_floor", 1, 10 * minute, hour, true, 10 * minute, "floor"},
      {"own server, zeros", 0, 0, 0, true, 174, "adaptive"},
      {"more than the floor lengthens", 2 * hour, 10 * minute, hour, false, 2 * hour, "max_age"},
      {"floor below min_floor", 5 * minute, 30 * minute, 20 * minute, false, 30 * minute, "floor"},
  };
  for (const Case& c : cases) {
    ScheduleOptions options;
    options.min_floor = seconds(c.min_floor_s);
    options.floor = seconds(c.floor_s);
    DueContext context = a_context();
    context.fresh = max_age(c.fresh_s);
    context.opened_by_allow = c.opened;
    expect_interval(due_after_success(options, context, 1000, {}), c.interval_s, c.due_reason, c.name);
  }
}

TEST(Schedule, AsksDormantFeedsUpToOnceAWeek) {
  struct Case {
    const char* name;
    Milliseconds idle;
    std::int64_t ceiling_s, interval_s;
    const char* due_reason;
  };
  const Case cases[] = {
      {"a day", days(1), day, day, "ceiling"},
      {"30 days", days(30), day, day, "ceiling"},
      {"45 days", days(45), day, 36 * hour, "dormant"},
      {"90 days", days(90), day, 3 * day, "dormant"},
      {"210 days", days(210), day, 7 * day, "dormant"},
      {"ten years", days(3650), day, 7 * day, "dormant"},
      {"new entries in the future", -days(3650), day, day, "ceiling"},
      {"lower ceiling", days(60), 6 * hour, 12 * hour, "dormant"},
      {"higher ceiling", days(60), 14 * day, 14 * day, "dormant"},
  };
  for (const Case& c : cases) {
    ScheduleOptions options;
    options.ceiling = seconds(c.ceiling_s);
    DueContext context = a_context();
    context.last_new = now - c.idle;
    expect_interval(due_after_success(options, context, 0, {}), c.interval_s, c.due_reason, c.name);
  }
  DueContext never = a_context();
  never.last_new = Milliseconds(0);
  expect_interval(due_after_success({}, never, 0, {}), day, "ceiling", "never had an entry");
}

// HTTP P8, P11
TEST(Schedule, TakesHintsAsMinimaUpToADay) {
  struct Case {
    const char* name;
    std::int64_t fresh_s;
    ScheduleHints hints;
    bool dormant;
    std::int64_t interval_s;
    const char* due_reason;
  };
  constexpr std::int64_t year = 365 * day;
  const Case cases[] = {
      {"fresh below what we want", 90 * minute, {}, false, 17450, "adaptive"},
      {"fresh above", 6 * hour, {}, false, 6 * hour, "max_age"},
      {"fresh of a day", day, {}, false, day, "max_age"},
      {"fresh of a day and a second", day + 1, {}, false, day, "fresh_clamped"},
      {"fresh of a year", year, {}, false, day, "fresh_clamped"},
      {"fresh of a year, dormant", year, {}, true, 7 * day, "fresh_clamped"},
      {"fresh of six days, dormant", 6 * day, {}, true, 6 * day, "max_age"},
      {"ttl below", 0, {hour, 0, 0, 0}, false, 17450, "adaptive"},
      {"ttl above", 0, {6 * hour, 0, 0, 0}, false, 6 * hour, "ttl"},
      {"ttl of a year", 0, {year, 0, 0, 0}, false, day, "fresh_clamped"},
      {"sy above", 0, {0, 7 * hour, 0, 0}, false, 7 * hour, "sy"},
      {"sy of a week", 0, {0, 7 * day, 0, 0}, false, day, "fresh_clamped"},
      {"sy of a week, dormant", 0, {0, 7 * day, 0, 0}, true, 7 * day, "sy"},
      {"the longest counts", 5 * hour, {7 * hour, 6 * hour, 0, 0}, false, 7 * hour, "ttl"},
      {"numbers no clock has", 0, {std::numeric_limits<std::int64_t>::max(), -1, 0, 0}, false, day, "fresh_clamped"},
      {"below nothing", 0, {-5, std::numeric_limits<std::int64_t>::min(), 0, 0}, false, 17450, "adaptive"},
  };
  for (const Case& c : cases) {
    DueContext context = a_context();
    context.fresh = max_age(c.fresh_s);
    if (c.dormant) context.last_new = now - days(31);
    expect_interval(due_after_success({}, context, 10, c.hints), c.interval_s, c.due_reason, c.name);
  }
}

// HTTP F8
TEST(Schedule, ObeysTheOperator) {
  struct Case {
    const char* name;
    std::int64_t min_s, max_s;  // 0: not set
    double new_per_week;
    std::int64_t ttl_s, interval_s;
    const char* due_reason;
  };
  const Case cases[] = {
      {"at least", 6 * hour, 0, 1000, 0, 6 * hour, "override"},
      {"less than the floor", 20 * minute, 0, 1000, 0, 20 * minute, "override"},
      {"never below ten minutes", 1, 0, 1000, 0, 10 * minute, "override"},
      {"more than the ceiling", 3 * day, 0, 0, 0, 3 * day, "override"},
      {"at most", 0, 2 * hour, 0, 0, 2 * hour, "override"},
      {"at most, whatever the document asks for", 0, 2 * hour, 1000, 12 * hour, 2 * hour, "fresh_clamped"},
      {"hints below the most count", 0, 12 * hour, 1000, 6 * hour, 6 * hour, "ttl"},
      {"at most less than the floor", 0, 30 * minute, 0, 0, 30 * minute, "override"},
      {"at most, never below ten minutes", 0, 1, 0, 0, 10 * minute, "override"},
      {"both", 3 * hour, 4 * hour, 0, 0, 4 * hour, "override"},
  };
  for (const Case& c : cases) {
    DueContext context = a_context();
    if (c.min_s > 0) context.interval_min = seconds(c.min_s);
    if (c.max_s > 0) context.interval_max = seconds(c.max_s);
    expect_interval(due_after_success({}, context, c.new_per_week, {c.ttl_s, 0, 0, 0}), c.interval_s, c.due_reason,
                    c.name);
  }
  DueContext own = a_context();
  own.opened_by_allow = true;
  own.interval_min = seconds(90);
  expect_interval(due_after_success({}, own, 10'000, {}), 90, "override", "an own server");
}

// HTTP P9
TEST(Schedule, WaitsForRetryAfter) {
  struct Case {
    std::int64_t wait_s;
    bool clamped;
    std::int64_t least_s;
    const char* due_reason;
  };
  for (const Case& c :
       {Case{0, false, 17450, "adaptive"}, Case{hour, false, 17450, "adaptive"},
        Case{5 * hour, false, 5 * hour, "retry_after"}, Case{2 * day, false, 2 * day, "retry_after"},
        Case{7 * day, false, 7 * day, "retry_after"}, Case{7 * day, true, 7 * day, "retry_after_clamped"}}) {
    DueContext context = a_context();
    context.retry_after = RetryAfter{seconds(c.wait_s), c.clamped};
    const NextDue next = due_after_success({}, context, 10, {});
    EXPECT_GE(next.due, now + seconds(c.least_s)) << c.wait_s;
    EXPECT_LT(next.due, now + seconds(c.least_s) + spread_of(seconds(17450))) << c.wait_s;
    EXPECT_EQ(next.due_reason, c.due_reason) << c.wait_s;
    EXPECT_TRUE(lists(next, "retry_after", c.wait_s)) << c.wait_s;
  }
  DueContext limited = a_context();
  limited.retry_after = RetryAfter{seconds(2 * day), false};
  limited.interval_max = hours(1);
  EXPECT_GE(due_after_success({}, limited, 10, {}).due, now + days(2)) << "over the operator's limit too";
}

TEST(Schedule, KeepsAnEarlierRetryAfter) {
  DueContext context = a_context();
  context.not_before = now + days(3);
  context.retry_after = RetryAfter{seconds(60), false};
  NextDue next = due_after_success({}, context, 10, {});
  EXPECT_GE(next.due, now + days(3));
  EXPECT_LT(next.due, now + days(3) + minutes(30));
  EXPECT_EQ(next.due_reason, "retry_after");
  EXPECT_GE(due_after_failure(context, minutes(60), hours(24), 1, "backoff").due, now + days(3));
  context.not_before = now - days(3);
  EXPECT_EQ(due_after_success({}, context, 10, {}).due_reason, "adaptive");
}

// HTTP P12, §3 step 7
TEST(Schedule, MovesForwardByAPhaseThatStaysTheFeeds) {
  for (const std::int64_t interval_s : {10 * minute, hour, 17450L, day, 7 * day}) {
    const Milliseconds spread = spread_of(seconds(interval_s));
    for (int i = 0; i < 200; ++i) {
      const std::string url = feed_url + std::to_string(i);
      DueContext context = a_context();
      context.phase = phase_of(url);
      context.interval_min = context.interval_max = seconds(interval_s);
      const NextDue next = due_after_success({}, context, 10, {});
      ASSERT_GE(next.due, now + seconds(interval_s));
      ASSERT_LT(next.due, now + seconds(interval_s) + spread);
      // Computed a little earlier or later, the due time has the same phase.
      context.now += Milliseconds(12'345 + i);
      const NextDue later = due_after_success({}, context, 10, {});
      ASSERT_EQ(later.due % spread, next.due % spread) << url;
    }
  }
}

TEST(Schedule, SpreadsManyFeedsWithoutAPeak) {
  constexpr int feeds = 180'000;
  std::array<int, 1800> by_second{};
  std::array<int, 60> second_of_minute{};
  for (int i = 0; i < feeds; ++i) {
    const std::string url = "https://blog" + std::to_string(i) + ".example/feed";
    DueContext context = a_context();
    context.phase = phase_of(url);
    const Milliseconds due = due_after_success({}, context, 0, {}).due;
    const auto second = static_cast<std::size_t>(((due - now) / seconds(1)) - day);
    ASSERT_LT(second, by_second.size());
    ++by_second[second];
    ++second_of_minute[static_cast<std::size_t>(due / seconds(1) % 60)];
  }
  EXPECT_LE(*std::max_element(by_second.begin(), by_second.end()), feeds / 1800 * 3 / 2);
  EXPECT_GE(*std::min_element(by_second.begin(), by_second.end()), feeds / 1800 / 2);
  EXPECT_LE(*std::max_element(second_of_minute.begin(), second_of_minute.end()), feeds / 60 * 11 / 10);
  EXPECT_GE(*std::min_element(second_of_minute.begin(), second_of_minute.end()), feeds / 60 * 9 / 10);
}

// HTTP P11. It is Sunday noon, and the feed is due at one.
TEST(Schedule, StepsOverSkippedHoursAndDays) {
  constexpr std::uint32_t every_hour = (1U << 24U) - 1, every_day = (1U << 7U) - 1;
  constexpr Milliseconds midnight = now + hours(12);
  struct Case {
    const char* name;
    std::uint32_t hours, days;
    Milliseconds from;
    const char* due_reason;
  };
  const Case cases[] = {
      {"another hour", 1U << 12U | 1U << 14U, 0, now + hours(1), "floor"},
      {"this hour", 1U << 13U, 0, now + hours(2), "skip_hours"},
      {"three hours", 1U << 13U | 1U << 14U | 1U << 15U, 0, now + hours(4), "skip_hours"},
      {"the rest of the day", 0xFFE000U, 0, midnight, "skip_hours"},
      {"all hours but noon", every_hour & ~(1U << 12U), 0, now + days(1), "skip_hours"},
      {"another day", 0, 1U << 1U, now + hours(1), "floor"},
      {"today", 0, 1U, midnight, "skip_days"},
      {"weekend and Monday", 0, 1U << 6U | 1U | 1U << 1U, midnight + days(1), "skip_days"},
      {"all days but Saturday", 0, every_day & ~(1U << 6U), midnight + days(5), "skip_days"},
      {"today, and the first hour of every day", 1U, 1U, midnight + hours(1), "skip_hours"},
      {"all but Wednesdays at five", every_hour & ~(1U << 5U), every_day & ~(1U << 3U), midnight + days(2) + hours(5),
       "skip_hours"},
      {"every hour: ignored", every_hour, 0, now + hours(1), "floor"},
      {"every day: ignored", 0, every_day, now + hours(1), "floor"},
      {"every hour, and today", every_hour, 1U, midnight, "skip_days"},
      {"every day, and this hour", 1U << 13U, every_day, now + hours(2), "skip_hours"},
      {"hours that no day has", ~every_hour, 0, now + hours(1), "floor"},
  };
  for (const Case& c : cases) {
    const NextDue next = due_after_success({}, a_context(), 1000, {0, 0, c.hours, c.days});
    EXPECT_GE(next.due, c.from) << c.name;
    EXPECT_LT(next.due, c.from + minutes(30)) << c.name;
    EXPECT_EQ(next.due_reason, c.due_reason) << c.name;
  }
}

TEST(Schedule, SpreadsFeedsThatSkippedTheSameHour) {
  std::array<int, 30> by_minute{};
  for (int i = 0; i < 3000; ++i) {
    const std::string url = feed_url + std::to_string(i);
    DueContext context = a_context();
    context.phase = phase_of(url);
    const Milliseconds due = due_after_success({}, context, 1000, {0, 0, 1U << 13U, 0}).due;
    ++by_minute.at(static_cast<std::size_t>((due - now - hours(2)) / minutes(1)));
  }
  EXPECT_LE(*std::max_element(by_minute.begin(), by_minute.end()), 150);
  EXPECT_GE(*std::min_element(by_minute.begin(), by_minute.end()), 60);
}

TEST(Schedule, NeverPlansFurtherThanAMonth) {
  DueContext context = a_context();
  context.interval_min = days(30);
  EXPECT_EQ(due_after_success({}, context, 0, {}).due, now + days(30));
  EXPECT_EQ(due_after_failure(a_context(), days(30), days(30), 1, "gone").due, now + days(30));
  EXPECT_EQ(due_after_failure(a_context(), hours(24), days(30), 40, "legal").due, now + days(30));
}

// HTTP §3: back(base, cap, n)
TEST(Schedule, WaitsLongerAfterEachFailure) {
  struct Case {
    Milliseconds base, cap;
    int failures;
    std::int64_t interval_s;
  };
  const Case cases[] = {
      {minutes(60), hours(24), 1, hour},      {minutes(60), hours(24), 2, 2 * hour},
      {minutes(60), hours(24), 5, 16 * hour}, {minutes(60), hours(24), 6, day},
      {minutes(60), hours(24), 31, day},      {minutes(60), hours(24), 32, day},
      {minutes(60), hours(24), 100'000, day}, {minutes(60), hours(24), 0, hour},
      {minutes(60), hours(24), -7, hour},     {minutes(15), hours(24), 1, 15 * minute},
      {minutes(15), hours(24), 3, hour},      {minutes(15), hours(24), 7, 16 * hour},
      {minutes(15), hours(24), 8, day},       {hours(4), days(7), 1, 4 * hour},
      {hours(4), days(7), 6, 128 * hour},     {hours(4), days(7), 7, 7 * day},
      {minutes(60), days(7), 8, 128 * hour},  {minutes(60), days(7), 9, 7 * day},
      {hours(24), days(30), 5, 16 * day},     {hours(24), hours(24), 9, day},
  };
  for (const Case& c : cases) {
    const NextDue next = due_after_failure(a_context(), c.base, c.cap, c.failures, "backoff");
    expect_interval(next, c.interval_s, "backoff", std::to_string(c.failures));
    EXPECT_TRUE(lists(next, "backoff", c.interval_s)) << c.failures;
  }
}

TEST(Schedule, CountsHintsOfAFailureAsMinima) {
  struct Case {
    const char* name;
    std::int64_t fresh_s, wait_s, interval_min_s;
    bool dormant;
    std::int64_t least_s;
    const char* due_reason;
  };
  const Case cases[] = {
      {"fresh below", hour, 0, 0, false, 4 * hour, "backoff"},
      {"fresh above", 6 * hour, 0, 0, false, 6 * hour, "max_age"},
      {"fresh of a year", 365 * day, 0, 0, false, day, "fresh_clamped"},
      {"fresh of a year, dormant", 365 * day, 0, 0, true, 7 * day, "fresh_clamped"},
      {"Retry-After below", 0, hour, 0, false, 4 * hour, "backoff"},
      {"Retry-After above", 0, 5 * hour, 0, false, 5 * hour, "retry_after"},
      {"Retry-After above fresh", 6 * hour, 7 * hour, 0, false, 7 * hour, "retry_after"},
      {"the operator's interval", 0, 0, 8 * hour, false, 8 * hour, "override"},
      {"the operator's interval below", 0, 0, 2 * hour, false, 4 * hour, "backoff"},
  };
  for (const Case& c : cases) {
    DueContext context = a_context();
    context.fresh = max_age(c.fresh_s);
    if (c.wait_s > 0) context.retry_after = RetryAfter{seconds(c.wait_s), false};
    if (c.interval_min_s > 0) context.interval_min = seconds(c.interval_min_s);
    if (c.dormant) context.last_new = now - days(100);
    const NextDue next = due_after_failure(context, hours(4), days(7), 1, "backoff");
    EXPECT_GE(next.due, now + seconds(c.least_s)) << c.name;
    EXPECT_LT(next.due, now + seconds(c.least_s) + minutes(30)) << c.name;
    EXPECT_EQ(next.due_reason, c.due_reason) << c.name;
  }
}

/// Random states of feeds and random answers.
class AnyState {
 public:
  explicit AnyState(std::uint32_t seed) : random_(seed) {}

  std::int64_t up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random_); }
  bool one_in(int n) { return up_to(n - 1) == 0; }
  /// A number of any order of magnitude, 0 included.
  std::int64_t any_size(std::int64_t most) { return up_to(most) >> static_cast<unsigned>(up_to(40)); }

  DueContext context() {
    url_ = "https://example.org/" + std::to_string(random_());
    DueContext context;
    context.phase = phase_of(url_);
    context.now = now + Milliseconds(up_to(400 * day * 1000));
    if (!one_in(5)) context.last_new = context.now - Milliseconds(any_size(4000 * day * 1000));
    if (one_in(20)) context.last_new = context.now + Milliseconds(any_size(4000 * day * 1000));
    if (one_in(3)) context.fresh = max_age(any_size(std::numeric_limits<std::int32_t>::max()));
    if (one_in(4)) context.retry_after = RetryAfter{seconds(any_size(7 * day)), one_in(2)};
    if (one_in(8)) context.not_before = context.now + Milliseconds(any_size(7 * day * 1000));
    context.opened_by_allow = one_in(3);
    if (one_in(4)) context.interval_min = seconds(any_size(30 * day));
    return context;
  }
  ScheduleOptions options() {
    ScheduleOptions options;
    if (one_in(2)) return options;
    options.min_floor = seconds(1 + any_size(hour));
    options.floor = options.min_floor + seconds(any_size(day));
    options.ceiling = options.floor + seconds(any_size(10 * day));
    return options;
  }
  ScheduleHints hints() {
    ScheduleHints hints;
    if (one_in(3)) hints.ttl_s = any_size(1000 * day);
    if (one_in(3)) hints.sy_s = any_size(1000 * day);
    if (one_in(4)) hints.skip_hours = static_cast<std::uint32_t>(up_to((1 << 24) - 1));
    if (one_in(4)) hints.skip_days = static_cast<std::uint32_t>(up_to((1 << 7) - 1));
    return hints;
  }

 private:
  std::mt19937 random_;
  std::string url_;
};

void expect_not_before(const NextDue& next, const DueContext& context, Milliseconds floor, int run) {
  ASSERT_GE(next.due, context.now + floor) << run << " " << next.due_reason;
  ASSERT_LE(next.due, context.now + days(30)) << run << " " << next.due_reason;
  if (context.retry_after) {
    ASSERT_GE(next.due, context.now + Milliseconds(context.retry_after->wait)) << run;
  }
  ASSERT_GE(next.due, context.not_before) << run;
  ASSERT_GE(next.due, context.now + std::min<Milliseconds>(context.fresh.fresh, hours(24))) << run;
  if (context.interval_min) {
    ASSERT_GE(next.due, context.now + *context.interval_min) << run;
  }
}

// HTTP N2
TEST(Schedule, IsNeverEarlyWhateverTheState) {
  AnyState any(20260301);
  for (int run = 0; run < 100'000; ++run) {
    const ScheduleOptions options = any.options();
    const DueContext context = any.context();
    const ScheduleHints hints = any.hints();
    const double rate = static_cast<double>(any.any_size(100'000)) / 100;
    const NextDue next = due_after_success(options, context, rate, hints);

    const Milliseconds least = context.opened_by_allow ? Milliseconds(seconds(1)) : Milliseconds(minutes(10));
    Milliseconds floor = std::max(options.floor, least);
    if (context.fresh.fresh.count() > 0) floor = std::min<Milliseconds>(floor, context.fresh.fresh);
    if (context.fresh.fresh.count() > 0) floor = std::max(floor, std::max(options.min_floor, least));
    if (context.interval_min) floor = std::max(*context.interval_min, least);
    expect_not_before(next, context, floor, run);
    ASSERT_GE(next.due, context.now + std::min<Milliseconds>(seconds(hints.ttl_s), hours(24))) << run;
    ASSERT_GE(next.due, context.now + std::min<Milliseconds>(seconds(hints.sy_s), hours(24))) << run;
    if (next.due < context.now + days(30)) {
      const std::int64_t at_hour = next.due / hours(1);
      const std::uint32_t hour_bit = 1U << static_cast<unsigned>(at_hour % 24);
      const std::uint32_t day_bit = 1U << static_cast<unsigned>((at_hour / 24 + 4) % 7);
      ASSERT_TRUE(hints.skip_hours == (1U << 24U) - 1 || (hints.skip_hours & hour_bit) == 0) << run;
      ASSERT_TRUE(hints.skip_days == (1U << 7U) - 1 || (hints.skip_days & day_bit) == 0) << run;
    }
    ASSERT_EQ(due_after_success(options, context, rate, hints).due, next.due) << "pure";
    ASSERT_FALSE(next.due_reason.empty());
  }
}

TEST(Schedule, IsNeverEarlyAfterFailures) {
  AnyState any(20260302);
  constexpr std::array<std::pair<Milliseconds, Milliseconds>, 5> rows{{{minutes(15), hours(24)},
                                                                       {minutes(60), hours(24)},
                                                                       {minutes(60), days(7)},
                                                                       {hours(4), days(7)},
                                                                       {hours(24), days(30)}}};
  for (int run = 0; run < 100'000; ++run) {
    const DueContext context = any.context();
    const auto& [base, cap] = rows.at(static_cast<std::size_t>(any.up_to(4)));
    const int failures = static_cast<int>(any.up_to(60));
    Milliseconds backed_off = base;
    for (int i = 1; i < failures && backed_off < cap; ++i) backed_off *= 2;
    const NextDue next = due_after_failure(context, base, cap, failures, "backoff");
    expect_not_before(next, context, std::min(backed_off, cap), run);
    ASSERT_EQ(due_after_failure(context, base, cap, failures, "backoff").due, next.due) << "pure";
  }
}

// HTTP P11
TEST(Hints, ReadTtlInWholeMinutes) {
  struct Case {
    std::optional<std::int64_t> ttl;
    std::int64_t seconds;
  };
  for (const Case& c :
       {Case{{}, 0}, Case{0, 0}, Case{-60, 0}, Case{1, 60}, Case{60, 3600}, Case{1440, 86400},
        Case{std::numeric_limits<std::int64_t>::max(), 365 * day}, Case{std::numeric_limits<std::int64_t>::min(), 0}}) {
    Feed feed;
    feed.ttl = c.ttl;
    EXPECT_EQ(schedule_hints(feed).ttl_s, c.seconds) << c.ttl.value_or(-1);
  }
}

// HTTP P11
TEST(Hints, ReadTheSyndicationModule) {
  struct Case {
    const char *period, *frequency;
    std::int64_t seconds;
  };
  const Case cases[] = {
      {"", "", 0},
      {"hourly", "", hour},
      {"hourly", "1", hour},
      {"hourly", "2", 30 * minute},
      {"daily", "", day},
      {"weekly", "1", 7 * day},
      {"monthly", "1", 30 * day},
      {"yearly", "1", 365 * day},
      {"weekly", "7", day},
      {"", "2", 12 * hour},
      {"\n\thourly\t\n", " 1\n", hour},
      {"Hourly", "1", hour},
      {"HOURLY", "1", hour},
      {"hourly", "0", hour},
      {"hourly", "-3", hour},
      {"hourly", "two", hour},
      {"hourly", "2.5", hour},
      {"hourly", "2x", hour},
      {"hourly", "99999999999999999999999", hour},
      {"hourly", "7200", 0},
      {"often", "", 0},
      {"often", "4", 0},
      {"hourlyish", "1", 0},
  };
  for (const Case& c : cases) {
    Feed feed;
    feed.syndication = Syndication{c.period, c.frequency, ""};
    EXPECT_EQ(schedule_hints(feed).sy_s, c.seconds) << '"' << c.period << "\" " << c.frequency;
  }
  Feed based;
  based.syndication = Syndication{"", "", "2000-01-01T12:00+00:00"};
  EXPECT_EQ(schedule_hints(based).sy_s, 0) << "a base alone says nothing";
}

// HTTP P11
TEST(Hints, ReadSkippedHoursAndDays) {
  Feed feed;
  feed.skip_hours = {0, 5, 23, 24, 25, -1, 1000, 5};
  feed.skip_days = {"Sunday", " saturday\n", "WEDNESDAY", "Mon", "Feiertag", "", "Sunday"};
  const ScheduleHints hints = schedule_hints(feed);
  EXPECT_EQ(hints.skip_hours, 1U << 0U | 1U << 5U | 1U << 23U);
  EXPECT_EQ(hints.skip_days, 1U << 0U | 1U << 6U | 1U << 3U);
  Feed last;
  last.skip_hours = {24};
  EXPECT_EQ(schedule_hints(last).skip_hours, 1U) << "24 is midnight";
  EXPECT_EQ(schedule_hints(Feed()), ScheduleHints());
}

TEST(Hints, ComeBackFromTheirText) {
  EXPECT_EQ(to_text(ScheduleHints()), "");
  EXPECT_EQ(to_text({3600, 86400, 7, 1}), "3600 86400 7 1");
  AnyState any(7);
  for (int run = 0; run < 1000; ++run) {
    const ScheduleHints hints = any.hints();
    ASSERT_EQ(read_schedule_hints(to_text(hints)), hints) << to_text(hints);
  }
}

TEST(Hints, CountAsNothingWhereTheirTextIsBroken) {
  struct Case {
    const char* text;
    ScheduleHints hints;
  };
  for (const Case& c :
       {Case{"", {}}, Case{" ", {}}, Case{"x", {}}, Case{"60", {60, 0, 0, 0}}, Case{"60 x 7 1", {60, 0, 0, 0}},
        Case{"60 120", {60, 120, 0, 0}}, Case{"99999999999999999999 1 1 1", {}}, Case{"60 120 -1 1", {60, 120, 0, 0}},
        Case{"60 120 7 1 more", {60, 120, 7, 1}}, Case{"60 120 7 99999999999", {60, 120, 7, 0}},
        Case{"{\"ttl\":60}", {}}}) {
    EXPECT_EQ(read_schedule_hints(c.text), c.hints) << '"' << c.text << '"';
  }
}

// HTTP §3 step 1
TEST(Rate, HalvesInAWeekAndCountsTwentyAtMost) {
  EXPECT_DOUBLE_EQ(decayed_rate(8, days(7), 0), 4);
  EXPECT_DOUBLE_EQ(decayed_rate(8, days(14), 3), 5);
  EXPECT_DOUBLE_EQ(decayed_rate(8, Milliseconds(0), 0), 8);
  EXPECT_DOUBLE_EQ(decayed_rate(0, days(1), 20), 20);
  EXPECT_DOUBLE_EQ(decayed_rate(0, days(1), 21), 20);
  EXPECT_DOUBLE_EQ(decayed_rate(0, days(1), 100'000), 20);
  EXPECT_DOUBLE_EQ(decayed_rate(8, -days(365), 1), 9) << "a last poll in the future counts as now (HTTP N2)";
  EXPECT_NEAR(decayed_rate(decayed_rate(8, days(3), 0), days(4), 0), 4, 1e-9) << "in steps as at once";
}

TEST(Rate, OfAFirstImportComesFromItsDates) {
  const std::int64_t now_s = now / seconds(1);
  struct Case {
    const char* name;
    std::vector<std::int64_t> dates;
    double rate;
  };
  const Case cases[] = {
      {"none", {}, 0},
      {"now", {now_s}, 1},
      {"a week ago", {now_s - 7 * day}, 0.5},
      {"now, one and two weeks ago", {now_s, now_s - 7 * day, now_s - 14 * day}, 1.75},
      {"in the future", {now_s + 365 * day, now_s + 1}, 2},
      {"1970", {0}, 0},
      {"40 today", std::vector<std::int64_t>(40, now_s), 40},
      {"1000 today", std::vector<std::int64_t>(1000, now_s), 40},
  };
  for (const Case& c : cases) EXPECT_NEAR(imported_rate(c.dates, now), c.rate, 1e-6) << c.name;
}

// HTTP E1
TEST(Why, ListsEveryInput) {
  DueContext context = a_context();
  context.fresh = {seconds(3900), "max_age", "max-age=4000, Age 100"};
  const NextDue next = due_after_success({}, context, 54.5, {1800, 0, 0, 0});
  EXPECT_EQ(next.due_reason, "max_age");
  const std::string why = encode_due_inputs(next.inputs);
  EXPECT_TRUE(
      why.starts_with("adaptive 3201 S=54.50\nfloor 3600\nmax_age 3900 max-age=4000, Age 100\nttl 1800\nphase "))
      << why;
  const std::vector<DueInput> read = decode_due_inputs(why);
  ASSERT_EQ(read.size(), next.inputs.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].code, next.inputs[i].code);
    EXPECT_EQ(read[i].seconds, next.inputs[i].seconds);
    EXPECT_EQ(read[i].from, next.inputs[i].from);
  }
}

TEST(Why, LeavesOutLinesThatCannotBeRead) {
  const std::vector<DueInput> read =
      decode_due_inputs("[{\"code\":\"old\"}]\nfloor\nfloor x\nfloor 12x\n\nphase -3 a b");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].code, "phase");
  EXPECT_EQ(read[0].seconds, -3);
  EXPECT_EQ(read[0].from, "a b");
}

TEST(Why, QuotesAtMost120Bytes) {
  const DueInput input{"expires", 60, "a\n" + std::string(500, 'x')};
  EXPECT_EQ(encode_due_inputs(std::span(&input, 1)), "expires 60 a " + std::string(118, 'x'));
  EXPECT_EQ(encode_due_inputs({}), "");
  const DueInput umlaut{"expires", 60, std::string(119, 'x') + "\xC3\xA4"};
  EXPECT_EQ(encode_due_inputs(std::span(&umlaut, 1)), "expires 60 " + std::string(119, 'x'))
      << "no half of a character";
}

}  // namespace
}  // namespace feedmill::schedule_test
