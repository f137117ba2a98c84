#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/worker/policy/decide_fixture.hpp"
#include "worker/policy/answers.hpp"

namespace feedmill::decide_test {
namespace {

std::optional<ToldQuota> told(const Headers& headers, bool refused = false) {
  return told_quota(headers, refused, std::chrono::sys_seconds(seconds(now_s)));
}

Headers left(const std::string& remaining, const std::string& reset) {
  return {{"x-ratelimit-remaining", remaining}, {"x-ratelimit-reset", reset}};
}

// HTTP H10
TEST(ToldQuota, SpreadsTheRemainingRequests) {
  EXPECT_EQ(told({}), std::nullopt);
  EXPECT_EQ(told(left("0.0", "57")), (ToldQuota{seconds(58), seconds(58), seconds(58)}))
      << "a second more: it is told in whole ones";
  EXPECT_EQ(told(left("59", "3600")), (ToldQuota{seconds(60), seconds(60), seconds(3601)}));
  EXPECT_EQ(told(left("4999", "3600")), (ToldQuota{Milliseconds(720), Milliseconds(720), seconds(3601)}));
  EXPECT_EQ(told({{"ratelimit", "\"d\";r=0;t=30"}, {"ratelimit-policy", "\"d\";q=1;w=60"}}),
            (ToldQuota{seconds(31), seconds(60), seconds(31)}));
  EXPECT_EQ(told({{"ratelimit", "\"s\";r=9;t=1,\"h\";r=99;t=3600"}}),
            (ToldQuota{seconds(36), seconds(36), seconds(3601)}))
      << "the tightest";
  EXPECT_EQ(told({{"ratelimit-policy", "\"d\";q=1;w=60"}}), (ToldQuota{seconds(60), seconds(60), minutes(2)}))
      << "without an end it is to be said again by the next answer";
  EXPECT_EQ(told(left("0", "500000")), (ToldQuota{hours(24), hours(24), hours(24)})) << "a day at most";
  EXPECT_EQ(told({{"x-ratelimit-remaining", "0"}}), std::nullopt);
  EXPECT_EQ(told({{"x-ratelimit-reset", "50"}}), std::nullopt);
}

TEST(ToldQuota, OfARefusalSaysWhenAndNotHowOften) {
  EXPECT_EQ(told(left("3", "40"), true), (ToldQuota{seconds(41), Milliseconds(0), seconds(41)}))
      << "whatever it says is left";
  EXPECT_EQ(told({{"x-ratelimit-reset", "50"}}, true), (ToldQuota{seconds(51), Milliseconds(0), seconds(51)}));
  EXPECT_EQ(told({{"retry-after", "50"}}, true), std::nullopt);
}

TEST(Decide, ReadsTheQuotaOfAFirstForbiddenAnswer) {
  Claim claim = claim_of(healthy());
  claim.host_served_at = now - hours(1);
  const HostAnswer host = decide(claim, HttpStatus{403}, exchange_with(left("0", "60")), {}, {}, now).commit.host;
  EXPECT_EQ(host.cause, "forbidden");
  EXPECT_TRUE(host.over_quota);
  EXPECT_EQ(host.quota, (ToldQuota{seconds(61), Milliseconds(0), seconds(61)}));
}

TEST(Decide, TellsTheGateOfQuotas) {
  const Decision served = decide_on(healthy(), NotModified(), exchange_with(left("0", "60")));
  EXPECT_EQ(served.commit.host.quota, (ToldQuota{seconds(61), seconds(61), seconds(61)}));
  EXPECT_FALSE(served.commit.host.over_quota);
  const Decision refused = decide_on(healthy(), HttpStatus{429});
  EXPECT_TRUE(refused.commit.host.over_quota);
  EXPECT_EQ(refused.commit.host.quota, std::nullopt);
  EXPECT_FALSE(decide_on(healthy(), HttpStatus{503}, exchange_with(left("0", "60"))).commit.host.quota);
  EXPECT_FALSE(decide_on(healthy(), HttpStatus{403}).commit.host.over_quota) << "it serves nobody else";

  Claim claim = claim_of(healthy());
  claim.host_served_at = now - hours(1);
  claim.egress = "one";
  const Decision first = decide(claim, HttpStatus{403}, exchange_with(), {}, {}, now);
  EXPECT_TRUE(first.commit.host.over_quota);
  EXPECT_EQ(first.commit.host.egress, "one");
  claim.state = first.commit.state;
  EXPECT_FALSE(decide(claim, HttpStatus{403}, exchange_with(), {}, {}, now).commit.host.over_quota)
      << "its own trouble";
}

// HTTP H11
TEST(Decide, LetsAStormOfItsHostPass) {
  const auto cause_of = [](const Claim& claim, const Reading& reading) {
    return decide(claim, Reading(reading), exchange_with(), {}, {}, now).commit.host.cause;
  };
  Claim claim = claim_of(healthy());
  const Reading empty = Unreadable{Reason::parse_empty, "nothing", {}};
  EXPECT_EQ(cause_of(claim, HttpStatus{404}), "status.not_found");
  EXPECT_EQ(cause_of(claim, HttpStatus{500}), "status.server");
  EXPECT_EQ(cause_of(claim, empty), "parse.empty");
  EXPECT_EQ(cause_of(claim, HttpStatus{410}), "");
  EXPECT_EQ(cause_of(claim, HttpStatus{451}), "");
  EXPECT_EQ(cause_of(claim, NotModified()), "");
  EXPECT_EQ(cause_of(claim_of(failed("status.not_found", 1, hours(1))), HttpStatus{404}), "") << "it was not healthy";

  claim.host_storm = now - days(3);
  for (const Reading& reading : {Reading(HttpStatus{404}), Reading(HttpStatus{502}), empty}) {
    const Decision weathered = decide(claim, Reading(reading), exchange_with(), {}, {}, now);
    EXPECT_EQ(weathered.outcome, Outcome::failed);
    EXPECT_EQ(weathered.commit.state.state, "healthy");
    EXPECT_EQ(weathered.commit.state.failures.count, 0);
    EXPECT_EQ(weathered.commit.state.rhythm.new_per_week, 10);
    const Milliseconds usually = decide(claim, NotModified(), exchange_with(), {}, {}, now).commit.next_due;
    EXPECT_LE(weathered.commit.next_due, usually) << "its rate of posts decays no further, either";
    EXPECT_GE(weathered.commit.next_due, usually - minutes(2));
    EXPECT_NE(weathered.commit.host.cause, "");
  }
  EXPECT_EQ(decide(claim, HttpStatus{410}, exchange_with(), {}, {}, now).commit.state.failures.count, 1);
  EXPECT_EQ(cause_of(claim, HttpStatus{410}), "status.gone") << "which is not served";
  claim.host_storm = now - days(7);
  EXPECT_EQ(decide(claim, HttpStatus{404}, exchange_with(), {}, {}, now).commit.state.failures.count, 1);
}

}  // namespace
}  // namespace feedmill::decide_test
