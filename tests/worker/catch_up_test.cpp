// The pace of a fleet that has fallen behind (HTTP P12).
#include "worker/ingest/catch_up.hpp"

#include <gtest/gtest.h>

namespace feedmill::catch_up_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const CatchUp::Time start = CatchUp::Time() + std::chrono::hours(1);

/// So many feeds that should have come `late` ago.
ClaimBatch batch_of(std::size_t feeds, Milliseconds late, const std::string& won = "interval") {
  const Milliseconds now(1'000'000);
  Claim claim{"worker:1-1", "https://example.org/feed.xml", now - late, now, {}};
  claim.state.won = won;
  ClaimBatch batch;
  batch.claims.assign(feeds, claim);
  return batch;
}

TEST(CatchUp, AllowsARateOfOverdueFeeds) {
  CatchUp pace(10, start);
  EXPECT_EQ(pace.allowed(100, start), 10U);
  pace.charge(batch_of(10, seconds(60)));
  EXPECT_EQ(pace.allowed(100, start), 0U);
  EXPECT_EQ(pace.allowed(100, start + milliseconds(500)), 5U);
  EXPECT_EQ(pace.allowed(3, start + milliseconds(500)), 3U) << "no more than there are lanes";
  EXPECT_EQ(pace.allowed(100, start + seconds(60)), 10U) << "what was not used does not add up beyond a second";
}

TEST(CatchUp, DoesNotPaceWhatIsOnTimeOrWasAskedFor) {
  CatchUp pace(10, start);
  pace.charge(batch_of(50, milliseconds(1'999)));
  pace.charge(batch_of(50, seconds(60), "manual"));
  EXPECT_EQ(pace.allowed(100, start), 10U);
}

TEST(CatchUp, IsNotPacedAtARateOfZero) {
  CatchUp pace(0, start);
  pace.charge(batch_of(50, seconds(60)));
  EXPECT_EQ(pace.allowed(100, start), 100U);
  pace.set_rate(10);
  EXPECT_EQ(pace.allowed(100, start), 0U);
}

TEST(CatchUp, SharesTheRateAndNeverFallsBehindWhatMustBePolled) {
  CatchUp pace(10, start);
  pace.set_fleet(1'000, 2);
  EXPECT_EQ(pace.allowed(100, start), 5U) << "half of the fleet's";
  pace.saw(seconds(10));  // 100 feeds a second must be polled anyhow
  EXPECT_EQ(pace.allowed(1'000, start + seconds(60)), 75U);
}

}  // namespace
}  // namespace feedmill::catch_up_test
