// Hostile sizes (SECURITY §3, L1): what is deep, wide or long costs no more than it weighs and ends in an answer.
// What adversarial shapes cost at growing sizes is counted by worst_case.py.
#include <string>

#include <gtest/gtest.h>

#include "parsers/read_feed.hpp"

namespace feedmill {
namespace {

std::string repeat(std::string_view part, std::size_t times) {
  std::string out;
  out.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

const std::string head = "<rss version='2.0'><channel><item><title>first</title></item>";

TEST(Limits, AMillionNestedElementsKeepTheEntriesBefore) {
  const auto feed = read_feed(head + repeat("<a>", 1'000'000), {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
  EXPECT_EQ(feed.value().bozo, Bozo::truncated);
}

TEST(Limits, AMillionSiblingsAreRead) {
  const auto feed = read_feed(head + repeat("<a/>", 900'000) + "</channel></rss>", {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
}

TEST(Limits, TenThousandEntriesAreKept) {
  const auto feed = read_feed("<rss version='2.0'><channel>" + repeat("<item><title>x</title></item>", 12'000), {});
  EXPECT_EQ(feed.value().entries.size(), 10'000U);
}

TEST(Limits, TheNewestEntriesAreKept) {
  std::string document = "<rss version='2.0'><channel>";
  for (int i = 0; i < 13'000; ++i) {
    document += "<item><guid>" + std::to_string(i) + "</guid><pubDate>" + std::to_string(1'500'000'000 + i) +
                "</pubDate></item>";
  }
  const auto feed = read_feed(document + "</channel></rss>", {});
  ASSERT_EQ(feed.value().entries.size(), 10'000U);
  EXPECT_EQ(feed.value().entries.front().id, "3000");
  EXPECT_EQ(feed.value().entries.back().id, "12999");
}

TEST(Limits, DeepJsonKeepsWhatIsBesideIt) {
  const std::string deep = repeat("[", 100'000) + repeat("]", 100'000);
  const auto feed =
      read_feed("{\"version\":\"https://jsonfeed.org/version/1\",\"x\":" + deep + ",\"items\":[{\"id\":\"1\"}]}", {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
}

TEST(Limits, ExpandingEntitiesStaysInProportion) {
  const std::string entity = "<!DOCTYPE rss [<!ENTITY e '" + repeat("x", 1000) + "'>]>";
  DocumentHints hints;
  hints.whole_values = true;
  const auto feed = read_feed(entity + head + "<item><title>" + repeat("&e;", 100'000) + "</title></item>", hints);
  ASSERT_TRUE(feed.has_value());
  EXPECT_LT(feed.value().entries.at(1).title.value.size(), 1'000'000U);
  EXPECT_TRUE(feed.value().entries.at(1).title.value.starts_with("xxx"));
}

TEST(Limits, RepairingStaysInProportion) {
  const auto feed = read_feed(head + "<item><title>a" + repeat("&", 1'000'000), {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 2U);
  EXPECT_TRUE(feed.value().entries.at(1).title.value.starts_with("a&&"));
}

}  // namespace
}  // namespace feedmill
