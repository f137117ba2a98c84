#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/log_in_memory.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill::refused_work_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// RELIABILITY §6.
TEST(RefusedWorkTest, IsLoggedOnceAndWhenItResumes) {
  test::LogInMemory lines;
  Metrics metrics{Metrics::Build{}};
  RefusedWork work(metrics, lines.log(), "delivery");
  work.goes_on();
  for (int i = 0; i < 3; ++i) work.tell({StoreError::Code::refused, "WRONGTYPE of stream:signals"});
  for (int i = 0; i < 3; ++i) work.goes_on();
  const std::string text = lines.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_THAT(text, HasSubstr("delivery cannot continue: a key it needs has the wrong type; feedmill verify lists it: "
                              "delete or rename it"));
  EXPECT_THAT(text, HasSubstr("WRONGTYPE of stream:signals"));
  EXPECT_THAT(text, HasSubstr("delivery continues"));
  EXPECT_THAT(metrics.text(), HasSubstr("feedmill_bugs_total 0"));
}

TEST(RefusedWorkTest, IsABugWhereNoKeyIsToBlame) {
  test::LogInMemory lines;
  Metrics metrics{Metrics::Build{}};
  RefusedWork work(metrics, lines.log(), "delivery");
  work.tell({StoreError::Code::bug, "an answer of another shape"});
  const std::string text = lines.text();
  EXPECT_THAT(text, HasSubstr("event=bug"));
  EXPECT_THAT(metrics.text(), HasSubstr("feedmill_bugs_total 1"));
  EXPECT_THAT(text, Not(HasSubstr("wrong type")));
}

}  // namespace
}  // namespace feedmill::refused_work_test
