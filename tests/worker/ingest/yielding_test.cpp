#include <gtest/gtest.h>

#include "worker/ingest/worker.hpp"

namespace feedmill::yielding_test {
namespace {

using namespace std::chrono_literals;

class YieldingTest : public testing::Test {
 protected:
  YieldingTest() { yielding.set(true); }
  /// Reports a look and advances the clock by the rest that follows.
  void look(Milliseconds due_for, bool all = true) {
    yielding.looked(due_for, all, now);
    now += yielding.rest();
  }

  Yielding yielding{2s};
  Yielding::Clock::time_point now = Yielding::Clock::time_point(1h);
};

TEST_F(YieldingTest, LooksLessOftenTheLongerThePrimaryKeepsUp) {
  for (const Milliseconds rest : {4s, 8s, 10s, 10s}) {
    look(500ms);
    EXPECT_EQ(yielding.rest(), rest);
    EXPECT_TRUE(yielding.rests(now));
  }
}

TEST_F(YieldingTest, RestsUntilLaterFeedsAreDue) {
  EXPECT_EQ(yielding.rest(60s), 2s) << "it is not known yet whether the first keeps up";
  for (int looks = 0; looks < 3; ++looks) look(0ms);
  EXPECT_EQ(yielding.rest(60s), 60s);
  EXPECT_EQ(yielding.rest(1s), 10s);
}

TEST_F(YieldingTest, HelpsWithLateFeedsForLongerEachTime) {
  for (const auto& help : {10s, 20s, 40s, 60s, 60s}) {
    yielding.looked(3001ms, true, now);
    EXPECT_FALSE(yielding.rests(now + help - 1ms));
    now += help;
    EXPECT_TRUE(yielding.rests(now));
    look(0ms);
    EXPECT_EQ(yielding.rest(), 2s) << "it looks again soon";
  }
  for (int looks = 0; looks < 5; ++looks) look(0ms);
  yielding.looked(0ms, false, now);
  EXPECT_FALSE(yielding.rests(now)) << "there is more than one claim takes";
  EXPECT_TRUE(yielding.rests(now + 10s)) << "the first has kept up meanwhile";
}

TEST_F(YieldingTest, DoesNotRestOnceItStandsFirst) {
  look(0ms);
  yielding.set(false);
  EXPECT_FALSE(yielding.rests(now));
  yielding.set(true);
  EXPECT_EQ(yielding.rest(), 2s) << "it begins anew";
}

}  // namespace
}  // namespace feedmill::yielding_test
