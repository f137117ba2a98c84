// The pace at which a late fleet catches up (HTTP P12).
#include <gtest/gtest.h>

#include "worker/ingest/worker.hpp"

namespace feedmill::catch_up_rate_test {
namespace {

using std::chrono::seconds;

TEST(CatchUpRate, NeverFallsBehindWhatMustBePolled) {
  CatchUpRate rate(10);
  EXPECT_EQ(rate.now(), 10U);
  rate.set_feeds(1'000);
  EXPECT_EQ(rate.now(), 10U) << "how often they are polled is not known yet";
  rate.observe(seconds(10));  // 100 feeds a second must be polled in any case
  EXPECT_EQ(rate.now(), 150U);
  rate.set_feeds(10);
  EXPECT_EQ(rate.now(), 10U);
}

TEST(CatchUpRate, IsNotPacedAtARateOfZero) {
  CatchUpRate rate(0);
  rate.set_feeds(1'000);
  rate.observe(seconds(10));
  EXPECT_EQ(rate.now(), 0U);
  rate.set_rate(10);
  EXPECT_EQ(rate.now(), 150U);
}

}  // namespace
}  // namespace feedmill::catch_up_rate_test
