// Outgoing data is counted once, while any transfer holds it (SECURITY M5).
#include <gtest/gtest.h>

#include "worker/base/memory_budget.hpp"

namespace feedmill::outgoing_memory_test {
namespace {

TEST(OutgoingMemory, CountsSharedDataUntilItsLastRelease) {
  MemoryBudget budget(10U << 20U);
  OutgoingMemory memory(budget, 3U << 20U);
  auto one = memory.share(std::string(1U << 20U, 'x'));
  EXPECT_EQ(*one, std::string(1U << 20U, 'x'));
  auto other = one;
  EXPECT_GE(memory.used(), 1U << 20U);
  EXPECT_LT(memory.used(), (1U << 20U) + 1'024);
  EXPECT_EQ(budget.used(), memory.used());
  one.reset();
  EXPECT_GE(budget.used(), 1U << 20U) << "somebody sends it";
  other.reset();
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(budget.used(), 0U);
}

TEST(OutgoingMemory, HasRoomWithinItsBoundAndTheBudgets) {
  MemoryBudget budget(10U << 20U);
  OutgoingMemory memory(budget, 4U << 20U);
  const auto held = memory.share(std::string(1U << 20U, 'x'));
  EXPECT_TRUE(memory.has_room(2U << 20U));
  EXPECT_FALSE(memory.has_room(4U << 20U));
  EXPECT_FALSE(memory.has_room(2U << 20U, 0.5)) << "of half";
  MemoryBudget::Share document(budget, 0);
  document.hold(9U << 20U);
  EXPECT_FALSE(memory.has_room(1)) << "less than a tenth of the budget is free";
  document.hold(0);
  EXPECT_TRUE(memory.has_room(1));
}

}  // namespace
}  // namespace feedmill::outgoing_memory_test
