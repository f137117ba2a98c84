#include "worker/websub/push_policy.hpp"

#include <map>

#include <gtest/gtest.h>

#include "worker/policy/push_health.hpp"
#include "worker/policy/schedule.hpp"

namespace feedmill::push_policy_test {
namespace {

using namespace std::chrono_literals;
using Do = PushStep::Do;

constexpr Milliseconds now{1'800'000'000'000};
const std::string hub = "https://hub.example/", other = "https://other.example/", topic = "https://example.org/f";

PushTask task(const std::string& state = "", std::vector<std::string> hubs = {hub}) {
  PushTask one;
  one.feed_url = "https://example.org/feed";
  one.state.push.standing.state = state;
  if (!hubs.empty()) one.state.push.advert = {topic, std::move(hubs), 0};
  return one;
}

PushRecord record(const std::string& state, Milliseconds pending_since = {}) {
  PushRecord one;
  one.hash = "h";
  one.hub = one.hub_url = hub;
  one.topic = topic;
  one.state = state;
  one.pending_since = pending_since;
  one.lease_end = now + 120h;
  one.renew_at = now + 10h;
  return one;
}

PushTask running(const std::string& state = "unproven") {
  PushTask one = task(state);
  one.subscription = record("active");
  return one;
}

TEST(PushPlan, SubscribesWhereAHubIsNamed) {
  const PushStep step = plan_push(task(), now);
  EXPECT_EQ(step.what, Do::subscribe);
  EXPECT_EQ(step.hub, hub);
  EXPECT_EQ(step.topic, topic);
}

TEST(PushPlan, ForgetsWhereNoneIs) {
  EXPECT_EQ(plan_push(task("", {}), now).what, Do::forget);
}

TEST(PushPlan, WaitsForTheVerificationForAnHour) {
  PushTask asked = task("pending");
  asked.asked_for = record("pending", now - 59min);
  EXPECT_EQ(plan_push(asked, now).what, Do::wait);
  EXPECT_EQ(plan_push(asked, now).delay, 1min);
  asked.asked_for->pending_since = now - 1h;
  EXPECT_EQ(plan_push(asked, now).what, Do::lost);
  EXPECT_EQ(plan_push(asked, now).delay, 24h);
}

TEST(PushPlan, AnUnverifiedRenewalIsRetriedWhileTheLeaseRuns) {
  PushTask asked = running("healthy");
  asked.asked_for = record("pending", now - 2h);
  EXPECT_EQ(plan_push(asked, now).what, Do::retry);
  EXPECT_EQ(plan_push(asked, now).delay, 1h);
}

// WEBSUB L2
TEST(PushPlan, ARenewalThatIsNotVerifiedWhenTheLeaseEndsIsNotWaitedFor) {
  for (const char* state : {"unproven", "healthy", "doubtful"}) {
    PushTask asked = running(state);
    asked.subscription->lease_end = now + 10min;
    asked.asked_for = record("pending", now - 5min);
    EXPECT_EQ(plan_push(asked, now).what, Do::wait) << state;
    EXPECT_EQ(plan_push(asked, now).delay, 10min) << state;
    EXPECT_EQ(plan_push(asked, now + 10min).what, Do::lost) << state;
    EXPECT_EQ(plan_push(asked, now + 10min).note, "its lease has expired and was not renewed");
    asked.state.push.advert.topic = "https://example.org/another";
    EXPECT_EQ(plan_push(asked, now + 10min).what, Do::subscribe) << state;
  }
}

TEST(PushPlan, RenewsWhenItIsTimeAndNotBefore) {
  PushTask one = running("healthy");
  EXPECT_EQ(plan_push(one, now).what, Do::wait);
  EXPECT_EQ(plan_push(one, now).delay, 10h);
  EXPECT_EQ(plan_push(one, now + 10h).what, Do::subscribe);
  EXPECT_EQ(plan_push(one, now + 10h).hub, hub);
}

TEST(PushPlan, ALeaseThatIsOverIsLost) {
  for (const char* state : {"unproven", "healthy", "doubtful"}) {
    EXPECT_EQ(plan_push(running(state), now + 120h).what, Do::lost) << state;
  }
  EXPECT_EQ(plan_push(running("failed"), now + 120h).what, Do::subscribe);
  EXPECT_EQ(plan_push(running("denied"), now + 120h).what, Do::subscribe);
}

TEST(PushPlan, AnotherHubOrTopicIsSubscribedToAtOnce) {
  PushTask one = running("healthy");
  one.state.push.advert = {topic, {other}, 0};
  EXPECT_EQ(plan_push(one, now).what, Do::subscribe);
  EXPECT_EQ(plan_push(one, now).hub, other);
  one.state.push.advert = {topic + "2", {hub}, 0};
  EXPECT_EQ(plan_push(one, now).what, Do::subscribe);
  EXPECT_EQ(plan_push(one, now).topic, topic + "2");
}

// WEBSUB §2
TEST(PushPlan, AHubSetByHandStandsForWhatTheDocumentNames) {
  PushTask one = task();
  one.state.settings = R"({"hub":"https://set.example/","topic":"https://example.org/set"})";
  EXPECT_EQ(plan_push(one, now).what, Do::subscribe);
  EXPECT_EQ(plan_push(one, now).hub, "https://set.example/");
  EXPECT_EQ(plan_push(one, now).topic, "https://example.org/set");
  one.state.push.advert = {topic, {hub}, 3};
  EXPECT_EQ(plan_push(one, now).hub, "https://set.example/") << "whatever the document has ceased to name";
  one.state.settings = R"({"hub":"https://set.example/"})";
  EXPECT_EQ(plan_push(one, now).topic, topic) << "as the document calls itself";
  one.state.push.advert = {};
  EXPECT_EQ(plan_push(one, now).topic, one.feed_url) << "it says nothing of that";
  one.state.settings = R"({"hub":"https://set.example/","websub":"off"})";
  EXPECT_EQ(plan_push(one, now).what, Do::forget);
}

TEST(PushPlan, SettingAndClearingAHubSubscribesBeforeLeaving) {
  PushTask one = running("healthy");
  one.state.settings = R"({"hub":"https://set.example/","topic":"https://example.org/set"})";
  EXPECT_EQ(plan_push(one, now).what, Do::subscribe);
  EXPECT_EQ(plan_push(one, now).hub, "https://set.example/");
  one.subscription->hub = "https://set.example/";
  one.subscription->topic = "https://example.org/set";
  EXPECT_EQ(plan_push(one, now).what, Do::wait);
  one.state.settings.clear();
  EXPECT_EQ(plan_push(one, now).hub, hub) << "the document's";
  one.state.push.advert = {};
  EXPECT_EQ(plan_push(one, now).what, Do::leave);
}

TEST(PushPlan, AHubThatStaysAmongOthersIsKept) {
  PushTask one = running("healthy");
  one.state.push.advert.hubs = {other, hub};
  EXPECT_EQ(plan_push(one, now).what, Do::wait);
  EXPECT_EQ(plan_push(one, now + 10h).hub, hub);
}

TEST(PushPlan, AHubThatFailedIsFollowedByTheNext) {
  PushTask one = task("failed", {hub, other});
  one.state.push.standing.tries = 1;
  EXPECT_EQ(plan_push(one, now).hub, other);
  one.state.push.standing.tries = 2;
  EXPECT_EQ(plan_push(one, now).hub, hub);
}

TEST(PushPlan, EachHubOfTheListIsAskedBeforeAnyWaits) {
  PushTask one = task("failed", {hub, other, "https://third.example/"});
  EXPECT_EQ(wait_for_next_hub(one, 2h, true), 0s);
  one.state.push.standing.tries = 1;
  EXPECT_EQ(wait_for_next_hub(one, 2h, false), 0s);
  one.state.push.standing.tries = 2;
  EXPECT_EQ(wait_for_next_hub(one, {}, true), 24h);
  EXPECT_EQ(wait_for_next_hub(one, 2h, false), 2h);
  one.state.push.standing.tries = 5;
  EXPECT_EQ(wait_for_next_hub(one, {}, true), 48h) << "the second round";
  EXPECT_EQ(wait_for_next_hub(task("failed"), {}, true), 24h) << "there is no other";

  PushTask renewing = running("healthy");
  renewing.state.push.advert.hubs = {other, hub};
  renewing.subscription->renew_at = now;
  EXPECT_EQ(plan_push(renewing, now).hub, hub);
  renewing.state.push.standing.tries = 1;
  EXPECT_EQ(plan_push(renewing, now).hub, other) << "not the same again";
}

TEST(PushPlan, LeavesAHubAbsentFromThreeDocuments) {
  PushTask one = running("healthy");
  one.state.push.advert.missing = 2;
  EXPECT_EQ(plan_push(one, now).what, Do::wait);
  one.state.push.advert.missing = 3;
  EXPECT_EQ(plan_push(one, now).what, Do::leave);
}

TEST(PushPlan, LeavesWhatTheOperatorDoesNotWant) {
  PushTask one = running("healthy");
  one.state.settings = R"({"websub":"off"})";
  EXPECT_EQ(plan_push(one, now).what, Do::leave);
  one = task();
  one.state.settings = R"({"websub":"off"})";
  EXPECT_EQ(plan_push(one, now).what, Do::forget);
}

TEST(PushPlan, TellsAHubOfTheEndThreeTimesAtMost) {
  PushTask end;
  end.subscription = record("retired");
  EXPECT_EQ(plan_push(end, now).what, Do::unsubscribe);
  EXPECT_EQ(plan_push(end, now + 120h).what, Do::forget);
  end.subscription->ends = 3;
  EXPECT_EQ(plan_push(end, now).what, Do::forget);
}

struct Lease {
  const char* words;
  Milliseconds lease;
};
class PushLeases : public testing::TestWithParam<Lease> {};

TEST_P(PushLeases, AreClampedAndRenewedAfterHalf) {
  const PushLease lease = push_lease(GetParam().words, topic);
  EXPECT_EQ(lease.lease, GetParam().lease);
  EXPECT_GE(lease.renew, lease.lease / 2);
  EXPECT_LE(lease.renew, lease.lease / 10 * 6);
}

INSTANTIATE_TEST_SUITE_P(All, PushLeases,
                         testing::Values(Lease{"864000", 240h}, Lease{"300", 5min}, Lease{"299", 5min},
                                         Lease{"1", 5min}, Lease{"2592000", 720h}, Lease{"2592001", 720h},
                                         Lease{"2147483647", 720h}, Lease{"2147483648", 24h},
                                         Lease{"99999999999999999999", 24h}, Lease{"0", 24h}, Lease{"-1", 24h},
                                         Lease{"", 24h}, Lease{"ten", 24h}, Lease{"10 ", 24h}, Lease{"+10", 24h},
                                         Lease{"1e9", 24h}, Lease{"86400.5", 24h}));

TEST(PushLease, RenewalsOfLeasesGrantedAtOnceAreSpread) {
  std::map<std::int64_t, int> minutes;
  for (int i = 0; i < 100'000; ++i) {
    ++minutes[push_lease("864000", "https://example.org/" + std::to_string(i)).renew / 1min];
  }
  EXPECT_GT(minutes.size(), 1000U);  // spread over most of a day
  for (const auto& [minute, count] : minutes) ASSERT_LT(count, 200) << minute;
}

TEST(HubRetry, DoublesUpToADayAndHeedsWhatTheHubSays) {
  const Milliseconds waits[] = {1h, 2h, 4h, 8h, 16h, 24h, 24h};
  for (std::uint32_t k = 0; k < 7; ++k) EXPECT_EQ(hub_retry_after(k, {}), waits[k]);
  EXPECT_EQ(hub_retry_after(0, 3h), 3h);
  EXPECT_EQ(hub_retry_after(2, 3h), 4h);
  EXPECT_EQ(hub_retry_after(1000, 10000h), 168h);
  EXPECT_EQ(push_retry_after(0), 24h);
  EXPECT_EQ(push_retry_after(1), 48h);
  EXPECT_EQ(push_retry_after(100), 720h);
}

// --- health --------------------------------------------------------------------------------------------------------

/// A feed in virtual time, and what its refreshes report.
class Watched {
 public:
  Watched() {
    standing.state = "unproven";
    standing.verified = at;
  }

  /// A push arrived and was fetched or, with `payload`, written.
  PushVerdict push(std::uint32_t created, bool payload = false) {
    at += 1h;
    standing.last_push = at;
    return see({at, last, payload, created, false, 10});
  }
  PushVerdict poll(std::uint32_t created, bool overdue = true, Milliseconds later = 1h, double per_week = 1) {
    at += later;
    return see({at, last, false, created, overdue, per_week});
  }

  PushVerdict see(const PushSight& sight) {
    const PushVerdict verdict = watch_push(standing, health, sight, options);
    health = verdict.health;
    standing.state = verdict.state;
    last = sight.now;
    return verdict;
  }
  void prove() {
    for (int i = 0; i < 3; ++i) push(1);
    ASSERT_EQ(standing.state, "healthy");
  }

  PushOptions options{true, 24h};
  PushStanding standing;
  PushHealth health;
  Milliseconds at = now, last = now;
};

TEST(PushHealthWatch, ThreePushesFirstAreProof) {
  Watched feed;
  EXPECT_EQ(feed.push(1).state, "unproven");
  EXPECT_EQ(feed.push(2, true).state, "unproven");
  const PushVerdict third = feed.push(1);
  EXPECT_EQ(third.state, "healthy");
  EXPECT_TRUE(third.pushed_first);
  EXPECT_EQ(third.health.fallback, 6h);
}

// WEBSUB P6
TEST(PushHealthWatch, WhatASecondLookFindsIsThePushes) {
  Watched feed;
  feed.push(0);
  feed.at += 1min;
  const PushVerdict found = feed.see({feed.at, feed.last, false, 1, true, 10, true});
  EXPECT_TRUE(found.pushed_first);
  EXPECT_FALSE(found.poll_first);
  EXPECT_EQ(found.health.poll_first, 0U);
}

TEST(PushHealthWatch, PushesThatBringNothingProveNothing) {
  Watched feed;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(feed.push(0).state, "unproven");
}

TEST(PushHealthWatch, TheFallBackDoublesWithPollsThatFindNothing) {
  Watched feed;
  feed.prove();
  EXPECT_EQ(feed.poll(0).health.fallback, 12h);
  EXPECT_EQ(feed.push(1).health.fallback, 12h);
  EXPECT_EQ(feed.poll(0).health.fallback, 24h);
  EXPECT_EQ(feed.poll(0).health.fallback, 24h);
  feed.options.fallback_max = 7 * 24h;
  EXPECT_EQ(feed.poll(0).health.fallback, 48h);
}

TEST(PushHealthWatch, OnePollFirstIsForgivenTwoAreNot) {
  Watched feed;
  feed.prove();
  EXPECT_EQ(feed.poll(1).state, "healthy");
  feed.push(1);
  const PushVerdict second = feed.poll(1);
  EXPECT_EQ(second.state, "doubtful");
  EXPECT_EQ(second.health.fallback.count(), 0);
}

TEST(PushHealthWatch, FiveInARowRecover) {
  Watched feed;
  feed.prove();
  feed.poll(1);
  feed.push(1);
  feed.poll(1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(feed.push(1).state, "doubtful");
  EXPECT_EQ(feed.push(1).state, "healthy");
  EXPECT_EQ(feed.poll(1).state, "healthy");  // the allowance is restored
}

TEST(PushHealthWatch, ThreePollsFirstInARowFail) {
  Watched feed;
  feed.prove();
  feed.poll(1);
  feed.poll(1);
  EXPECT_EQ(feed.poll(1).state, "failed");
  EXPECT_EQ(feed.push(5).state, "failed");  // a new subscription is needed first
}

TEST(PushHealthWatch, APushWithinTenMinutesOfThePollIsNotAFault) {
  Watched feed;
  feed.prove();
  feed.poll(1, false);
  feed.at += 9min;
  const PushVerdict verdict = feed.see({feed.at, feed.last, true, 0, false, 1});
  EXPECT_EQ(verdict.health.near, 1U);
  EXPECT_EQ(verdict.health.poll_first, 0U);
}

TEST(PushHealthWatch, APushThatDoesNotComeWithinTenMinutesIsMissed) {
  Watched feed;
  feed.prove();
  EXPECT_EQ(feed.poll(1, false).health.poll_first, 0U);
  EXPECT_EQ(feed.poll(0).health.poll_first, 1U);
  EXPECT_EQ(feed.poll(0).health.poll_first, 1U);  // counted once
}

TEST(PushHealthWatch, SilenceWithoutNewPostsIsNotAFault) {
  Watched feed;
  feed.prove();
  for (int day = 0; day < 60; ++day) EXPECT_EQ(feed.poll(0, false, 24h).state, "healthy");
}

TEST(PushHealthWatch, SilenceWhereMuchIsExpectedIsAFault) {
  Watched feed;
  feed.prove();
  EXPECT_EQ(feed.poll(1, false, 24h, 21).health.poll_first, 1U);
  Watched quiet;
  quiet.prove();
  EXPECT_EQ(quiet.poll(1, false, 24h, 2).health.poll_first, 0U);
}

TEST(PushHealthWatch, ANewSubscriptionStartsUnproven) {
  Watched feed;
  feed.prove();
  feed.poll(1);
  feed.poll(1);
  feed.poll(1);
  feed.standing.state = "unproven";
  feed.standing.verified = feed.at;
  EXPECT_EQ(feed.push(1).health.pushed_first, 1U);
  EXPECT_EQ(feed.health.bad_row, 0U);
}

TEST(PushHealthWatch, NothingIsWatchedWhereHubsAreNotSubscribedTo) {
  Watched feed;
  feed.options.on = false;
  EXPECT_EQ(feed.push(1).health, PushHealth());
  feed.options.on = true;
  for (const char* state : {"", "pending", "denied", "failed"}) {
    feed.standing.state = state;
    EXPECT_EQ(feed.push(1).state, state);
    EXPECT_EQ(feed.health, PushHealth());
  }
}

TEST(PushFallback, IsALeastIntervalThatTheOperatorMayCap) {
  DueContext context;
  context.phase = phase_of("https://example.org/feed");
  context.now = context.last_new = now;
  context.push_fallback = 12h;
  const NextDue next = due_after_success({}, context, 40, {});
  EXPECT_EQ(next.due_reason, "websub_fallback");
  EXPECT_GE(next.due, now + 12h);
  EXPECT_LE(next.due, now + 12h + 30min);
  context.interval_max = 2h;
  const NextDue capped = due_after_success({}, context, 40, {});
  EXPECT_GE(capped.due, now + 2h);
  EXPECT_LE(capped.due, now + 2h + 30min);
}

}  // namespace
}  // namespace feedmill::push_policy_test
