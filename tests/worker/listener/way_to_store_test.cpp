#include <gtest/gtest.h>

#include "worker/listener/by_partition.hpp"

namespace feedmill {
namespace {

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
  ASSERT_TRUE(probe) << "somebody must find out that it is back";
  EXPECT_FALSE(way.enter());
  way.note(true);
  EXPECT_TRUE(way.enter());
}

}  // namespace
}  // namespace feedmill
