#include "worker/admin/status_history.hpp"

#include <gtest/gtest.h>

namespace feedmill::status_history_test {
namespace {

using namespace std::chrono_literals;
using Clock = StatusHistory::Clock;

const Clock::time_point start = Clock::time_point() + 100h;

Report report(Outcome outcome, const std::string& url = "https://example.org/feed",
              std::chrono::duration<double> late = 0s) {
  Report made;
  made.feed_url = url;
  made.outcome = outcome;
  made.lateness = late;
  return made;
}

TEST(StatusHistory, AddsUpTheMinutesAskedFor) {
  StatusHistory history(start);
  EXPECT_EQ(history.figures(60, start).refreshes(), 0U);
  EXPECT_FALSE(history.last_commit());
  Report one = report(Outcome::updated);
  one.created = 3;
  one.modified = 1;
  one.wire_bytes = 1000;
  one.saved_hash = 20;
  one.saved_compression = 5;
  history.record(one, start);
  history.record(report(Outcome::not_modified), start + 30min);
  history.record(report(Outcome::deferred), start + 30min);
  history.record(report(Outcome::aborted), start + 30min);
  Report bug = report(Outcome::failed);
  bug.reason = Reason::worker_bug;
  history.record(bug, start + 90min);
  history.committed(true, start + 90min);
  history.committed(false, start + 91min);
  const Clock::time_point now = start + 91min;
  EXPECT_EQ(history.last_commit(), start + 90min);
  const RefreshFigures hour = history.figures(60, now), day = history.figures(1'440, now);
  EXPECT_EQ(hour.refreshes(), 1U);
  EXPECT_EQ(hour.bugs, 1U);
  EXPECT_EQ(hour.commits, 1U);
  EXPECT_EQ(hour.commits_failed, 1U);
  EXPECT_EQ(day.refreshes(), 3U);
  EXPECT_EQ(day.updated, 1U);
  EXPECT_EQ(day.not_modified, 1U);
  EXPECT_EQ(day.failed, 1U);
  EXPECT_EQ(day.with_new, 1U);
  EXPECT_EQ(day.created, 3U);
  EXPECT_EQ(day.modified, 1U);
  EXPECT_EQ(day.wire_bytes, 1000U);
  EXPECT_EQ(day.saved_bytes, 25U);
  EXPECT_EQ(history.figures(62, now).refreshes(), 2U);
}

TEST(StatusHistory, CountsPushesAndRefreshes) {
  StatusHistory history(start);
  Report pushed = report(Outcome::updated);
  pushed.created = 3;
  pushed.modified = 1;
  history.record_push(pushed, start + 1min);
  history.record_push(report(Outcome::unchanged), start + 2min);
  const RefreshFigures figures = history.figures(10, start + 3min);
  EXPECT_EQ(figures.pushes, 2U);
  EXPECT_EQ(figures.created, 3U);
  EXPECT_EQ(figures.modified, 1U);
  EXPECT_EQ(figures.refreshes(), 0U) << "nobody was asked";
}

TEST(StatusHistory, FindsTheMostFrequentRecentFailure) {
  StatusHistory history(start);
  EXPECT_FALSE(history.main_failure(start));
  const auto fail = [&](Reason reason, Clock::time_point at) {
    Report failed = report(Outcome::failed);
    failed.reason = reason;
    history.record(failed, at);
  };
  fail(Reason::dns_failed, start);
  fail(Reason::dns_failed, start + 1min);
  fail(Reason::egress_blocked, start + 2min);
  history.record(report(Outcome::updated), start + 2min);
  auto most = history.main_failure(start + 9min);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->reason, Reason::dns_failed);
  EXPECT_EQ(most->count, 2U);
  fail(Reason::egress_blocked, start + 10min);  // reuses the slot of the first minute
  most = history.main_failure(start + 10min);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->reason, Reason::egress_blocked);
  EXPECT_EQ(most->count, 2U);
  EXPECT_FALSE(history.main_failure(start + 20min));
}

TEST(StatusHistory, DropsEntriesOlderThanADay) {
  StatusHistory history(start);
  for (int minute = 0; minute < 3 * 24 * 60; ++minute) history.record(report(Outcome::updated), start + minute * 1min);
  const Clock::time_point now = start + 3 * 24h - 1min;
  EXPECT_EQ(history.figures(StatusHistory::minutes_kept, now).refreshes(), 24U * 60);
  EXPECT_EQ(history.figures(60, now + 30min).refreshes(), 30U);
  EXPECT_EQ(history.figures(StatusHistory::minutes_kept, now + 48h).refreshes(), 0U);
  EXPECT_EQ(history.figures(1'000'000, now).refreshes(), 24U * 60);
  EXPECT_EQ(history.total().refreshes(), 3 * 24U * 60);  // the total still counts them
}

TEST(StatusHistory, CutsItselfIntoStretchesOldestFirst) {
  StatusHistory history(start);
  history.record(report(Outcome::updated, "https://example.org/feed", 7s), start + 1min);
  for (int i = 0; i < 4; ++i) history.record(report(Outcome::updated), start + 12min);
  const auto stretches = history.stretches(4, 5, start + 14min);  // minutes -5 to 14
  ASSERT_EQ(stretches.size(), 4U);
  EXPECT_EQ(stretches[0].refreshes(), 0U);  // before its start
  EXPECT_EQ(stretches[1].refreshes(), 1U);
  EXPECT_EQ(stretches[1].worst_lateness, 7s);
  EXPECT_EQ(stretches[2].refreshes(), 0U);
  EXPECT_EQ(stretches[3].refreshes(), 4U);
}

TEST(StatusHistory, ReportsLateness) {
  RefreshFigures none;
  EXPECT_EQ(none.lateness_of(0.99), 0s);
  StatusHistory history(start);
  for (int i = 0; i < 98; ++i) history.record(report(Outcome::updated, "https://example.org/feed", -1s), start);
  history.record(report(Outcome::updated, "https://example.org/feed", 4s), start);
  history.record(report(Outcome::updated, "https://example.org/feed", 100'000s), start);
  const RefreshFigures figures = history.figures(1, start);
  EXPECT_EQ(figures.lateness_of(0.5), 1s);
  EXPECT_EQ(figures.lateness_of(0.99), 5s);
  EXPECT_EQ(figures.lateness_of(1), 100'000s);
  RefreshFigures quick;
  quick.worst_lateness = 200ms;
  quick.lateness[0] = 5;
  EXPECT_EQ(quick.lateness_of(0.99), 200ms);  // capped at the highest value seen
}

TEST(StatusHistory, KnowsBusyAndSlowHostsOfTheLastHour) {
  StatusHistory history(start);
  const auto meet = [&](const std::string& host, std::chrono::duration<double> took, Clock::time_point when,
                        Outcome outcome = Outcome::updated) {
    Report one = report(outcome, "https://" + host + "/feed");
    one.took = took;
    history.record(one, when);
  };
  for (int i = 0; i < 3; ++i) meet("busy.example", 100ms, start);
  meet("slow.example", 20s, start, Outcome::failed);
  meet("busy.example", 100ms, start + 31min);
  meet("late.example", 1s, start + 31min);
  auto hosts = history.hosts(2);
  ASSERT_EQ(hosts.busiest.size(), 2U);
  EXPECT_EQ(hosts.busiest[0].host, "busy.example");
  EXPECT_EQ(hosts.busiest[0].refreshes, 4U);  // sum of both half-hour generations
  EXPECT_EQ(hosts.busiest[0].mean(), 100ms);
  ASSERT_EQ(hosts.slowest.size(), 2U);
  EXPECT_EQ(hosts.slowest[0].host, "slow.example");
  EXPECT_EQ(hosts.slowest[0].failed, 1U);
  EXPECT_EQ(hosts.slowest[1].host, "late.example");
  EXPECT_EQ(history.hosts_age(start + 31min), 30min);
  meet("new.example", 1s, start + 62min);
  hosts = history.hosts(9);
  EXPECT_EQ(hosts.busiest.size(), 3U);  // hosts seen only in the first half hour were dropped
  meet("lone.example", 1s, start + 10h);
  hosts = history.hosts(9);
  ASSERT_EQ(hosts.busiest.size(), 1U);  // entries older than an hour do not count
  EXPECT_EQ(hosts.busiest[0].host, "lone.example");
}

TEST(StatusHistory, KeepsBusyHostsAmongAHundredThousand) {
  StatusHistory history(start);
  for (int i = 0; i < 100'000; ++i) {
    history.record(report(Outcome::updated, "https://h" + std::to_string(i) + ".example/"), start);
    if (i % 100 == 0) history.record(report(Outcome::updated, "https://busy.example/" + std::to_string(i)), start);
  }
  const auto hosts = history.hosts(1'000'000);
  EXPECT_LE(hosts.busiest.size(), StatusHistory::hosts_kept);
  EXPECT_EQ(hosts.busiest.front().host, "busy.example");
  EXPECT_EQ(hosts.busiest.front().refreshes, 1000U);
}

}  // namespace
}  // namespace feedmill::status_history_test
