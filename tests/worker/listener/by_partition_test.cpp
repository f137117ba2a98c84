#include "worker/listener/by_partition.hpp"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

TEST(ByPartition, IsNamedInOneWay) {
  const auto named = named_partition("/p12/status/feed");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->first, 12U);
  EXPECT_EQ(named->second, "/status/feed");
  EXPECT_EQ(path_of_partition(12), "/p12");
  for (const char* none : {"", "/", "/p", "/p/", "/p3", "p3/", "/p03/x", "/p+3/x", "/p-1/x", "/p3x/x", "/P3/x",
                           "/ping/3", "/p99999999999999999999/x"})
    EXPECT_FALSE(named_partition(none)) << none;
}

TEST(ByPartition, FindsTheEntryOfAPartition) {
  int one = 1, other = 2;
  ByPartition<int> only;
  EXPECT_TRUE(only.empty());
  EXPECT_EQ(only.find({}), nullptr);
  only.add({}, one);
  EXPECT_EQ(only.find({}), &one);
  EXPECT_EQ(only.find(0), nullptr) << "the store has no partitions";
  ByPartition<int> alone;
  alone.add(3, one);
  EXPECT_EQ(alone.find(3), &one);
  EXPECT_EQ(alone.find({}), &one);
  EXPECT_EQ(alone.find(2), nullptr);
  alone.add(2, other);
  EXPECT_EQ(alone.find(2), &other);
  EXPECT_EQ(alone.find({}), nullptr) << "which of them is not said";
}

TEST(WayToStore, LetsOneAtATimeWaitForAStoreThatIsAway) {
  WayToStore way;
  auto one = way.enter(), other = way.enter();
  ASSERT_TRUE(one && other);
  way.note(false);
  EXPECT_FALSE(way.enter()) << "two wait for it already";
  one.reset();
  EXPECT_FALSE(way.enter());
  other.reset();
  const auto probe = way.enter();
  ASSERT_TRUE(probe) << "a probe finds out that it is back";
  EXPECT_FALSE(way.enter());
  way.note(true);
  EXPECT_TRUE(way.enter());
}

}  // namespace
}  // namespace feedmill
