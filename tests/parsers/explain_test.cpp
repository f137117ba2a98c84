#include "parsers/explain.hpp"

#include <gtest/gtest.h>

#include "parsers/read_feed.hpp"

namespace feedmill {
namespace {

TEST(Explain, SaysWhatWasRepairedAndWhichRuleDecided) {
  const auto feed =
      read_feed("<rss version='2.0'><channel><item><title>a & b</title><pubDate>soon</pubDate></item>", {});
  std::string all;
  for (const std::string& line : explain(feed.value())) all += line + "\n";
  for (const char* part :
       {"format rss20", "encoding utf-8", "bozo malformed-xml", "date: 1 ", "missing_guid: 1 ", "1 by digest"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in:\n" << all;
  }
}

TEST(Explain, SaysThatNothingWasWrong) {
  const auto feed = read_feed("<rss version='2.0'><channel/></rss>", {});
  EXPECT_EQ(explain(feed.value()).at(2), "nothing had to be repaired or guessed");
}

}  // namespace
}  // namespace feedmill
