#include "worker/base/units.hpp"

#include <gtest/gtest.h>

namespace feedmill::units_test {
namespace {

struct UnitCase {
  const char* text;
  std::int64_t expected;  // -1: refused
};

class Durations : public testing::TestWithParam<UnitCase> {};
TEST_P(Durations, AreRead) {
  const auto duration = read_duration(GetParam().text);
  EXPECT_EQ(duration ? duration->count() : -1, GetParam().expected) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(All, Durations,
                         testing::Values(UnitCase{"500ms", 500}, UnitCase{"90s", 90'000}, UnitCase{"15min", 900'000},
                                         UnitCase{"24h", 86'400'000}, UnitCase{"7d", 604'800'000}, UnitCase{"0", 0},
                                         UnitCase{"0s", 0}, UnitCase{"", -1}, UnitCase{"90", -1}, UnitCase{"s", -1},
                                         UnitCase{"-1s", -1}, UnitCase{"1.5h", -1}, UnitCase{"1 s", -1},
                                         UnitCase{"5m", 300'000}, UnitCase{"1M", -1}, UnitCase{"1mo", -1},
                                         UnitCase{"1h30min", -1}, UnitCase{"106751991168d", -1},
                                         UnitCase{"99999999999999999999s", -1}));

class Sizes : public testing::TestWithParam<UnitCase> {};
TEST_P(Sizes, AreRead) {
  const auto size = read_size(GetParam().text);
  EXPECT_EQ(size ? static_cast<std::int64_t>(*size) : -1, GetParam().expected) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(All, Sizes,
                         testing::Values(UnitCase{"64KiB", 65'536}, UnitCase{"16MiB", 16'777'216},
                                         UnitCase{"2GiB", 2'147'483'648}, UnitCase{"512B", 512}, UnitCase{"0", 0},
                                         UnitCase{"64", -1}, UnitCase{"64KB", -1}, UnitCase{"64 KiB", -1},
                                         UnitCase{"17179869184GiB", -1}));

TEST(Units, AreWrittenAsTheyAreRead) {
  for (const char* text : {"1ms", "1500ms", "90s", "15min", "36h", "7d", "0s"})
    EXPECT_EQ(format_duration(*read_duration(text)), text);
  for (const char* text : {"1B", "1KiB", "1536KiB", "16MiB", "3GiB", "0B"})
    EXPECT_EQ(format_size(*read_size(text)), text);
  EXPECT_EQ(format_duration(std::chrono::minutes(60)), "1h");
}

TEST(Units, SecondsForProgramsAreRoundedToMilliseconds) {
  EXPECT_EQ(in_seconds(std::chrono::nanoseconds(7'361'585'816)), 7.362);
  EXPECT_EQ(in_seconds(std::chrono::milliseconds(250)), 0.25);
  EXPECT_EQ(in_seconds(std::chrono::microseconds(1)), 0);
}

TEST(Units, TimesAreRfc3339) {
  using namespace std::chrono;
  EXPECT_EQ(format_time(sys_days{2026y / 3 / 1} + 12h + 5ms), "2026-03-01T12:00:00.005Z");
  EXPECT_EQ(format_time(sys_days{1969y / 12 / 31} + 23h), "1969-12-31T23:00:00.000Z");
}

}  // namespace
}  // namespace feedmill::units_test
