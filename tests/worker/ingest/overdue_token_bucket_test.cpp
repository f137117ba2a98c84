// The pace of a fleet that has fallen behind (HTTP P12).
#include "worker/ingest/overdue_token_bucket.hpp"

#include <gtest/gtest.h>

namespace feedmill::overdue_token_bucket_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const OverdueTokenBucket::Time start = OverdueTokenBucket::Time() + std::chrono::hours(1);

/// So many feeds that should have come `late` ago.
ClaimBatch batch_of(std::size_t feeds, Milliseconds late, const std::string& due_reason = "interval") {
  const Milliseconds now(1'000'000);
  Claim claim{"worker:1-1", "https://example.org/feed.xml", now - late, now, {}};
  claim.state.due.reason = due_reason;
  ClaimBatch batch;
  batch.claims.assign(feeds, claim);
  return batch;
}

TEST(OverdueTokenBucket, AllowsARateOfOverdueFeeds) {
  OverdueTokenBucket pace(10, start);
  EXPECT_EQ(pace.available(100, start), 10U);
  pace.spend(batch_of(10, seconds(60)));
  EXPECT_EQ(pace.available(100, start), 0U);
  EXPECT_EQ(pace.available(100, start + milliseconds(500)), 5U);
  EXPECT_EQ(pace.available(3, start + milliseconds(500)), 3U) << "no more than there are lanes";
  EXPECT_EQ(pace.available(100, start + seconds(60)), 10U) << "what was not used does not add up beyond a second";
}

TEST(OverdueTokenBucket, DoesNotPaceWhatIsOnTimeOrWasAskedFor) {
  OverdueTokenBucket pace(10, start);
  pace.spend(batch_of(50, milliseconds(1'999)));
  pace.spend(batch_of(50, seconds(60), "manual"));
  EXPECT_EQ(pace.available(100, start), 10U);
}

TEST(OverdueTokenBucket, IsNotPacedAtARateOfZero) {
  OverdueTokenBucket pace(0, start);
  pace.spend(batch_of(50, seconds(60)));
  EXPECT_EQ(pace.available(100, start), 100U);
  pace.set_rate(10);
  EXPECT_EQ(pace.available(100, start), 0U);
}

TEST(OverdueTokenBucket, SharesTheRateAndNeverFallsBehindWhatMustBePolled) {
  OverdueTokenBucket pace(10, start);
  pace.set_fleet(1'000, 2);
  EXPECT_EQ(pace.available(100, start), 5U) << "half of the fleet's";
  pace.observe(seconds(10));  // 100 feeds a second must be polled anyhow
  EXPECT_EQ(pace.available(1'000, start + seconds(60)), 75U);
}

}  // namespace
}  // namespace feedmill::overdue_token_bucket_test
