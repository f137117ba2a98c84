#include <gtest/gtest.h>

#include "worker/ingest/worker.hpp"

namespace feedmill::adaptive_batch_size_test {
namespace {

using namespace std::chrono_literals;

TEST(AdaptiveBatchSize, StartsWithAllAndKeepsItWhileCommitsAreFast) {
  AdaptiveBatchSize pace(100);
  const AdaptiveBatchSize::Time start(1000s);
  EXPECT_EQ(pace.allowed(start), 100U);
  EXPECT_EQ(pace.allowed(start + 1h), 100U);
}

TEST(AdaptiveBatchSize, IsHalvedOnceASecondAndNeverToNothing) {
  AdaptiveBatchSize pace(100);
  const AdaptiveBatchSize::Time start(1000s);
  for (int i = 0; i < 50; ++i) pace.slow(start);
  EXPECT_EQ(pace.allowed(start), 50U) << "fifty slow commits of one moment count once";
  pace.slow(start + 1s);
  EXPECT_EQ(pace.allowed(start + 1s), 25U);
  for (int i = 2; i < 60; ++i) pace.slow(start + std::chrono::seconds(i));
  EXPECT_EQ(pace.allowed(start + 59s), 1U);
}

TEST(AdaptiveBatchSize, GrowsByOneForEachGoodSecondUpToAll) {
  AdaptiveBatchSize pace(100);
  const AdaptiveBatchSize::Time start(1000s);
  pace.slow(start);
  EXPECT_EQ(pace.allowed(start + 999ms), 50U);
  EXPECT_EQ(pace.allowed(start + 1s), 51U);
  EXPECT_EQ(pace.allowed(start + 1500ms), 51U);
  EXPECT_EQ(pace.allowed(start + 2s), 52U);
  EXPECT_EQ(pace.allowed(start + 30s), 80U);
  EXPECT_EQ(pace.allowed(start + 1h), 100U);
}

}  // namespace
}  // namespace feedmill::adaptive_batch_size_test
