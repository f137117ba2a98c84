#include <gtest/gtest.h>

#include "parsers/read_feed.hpp"

namespace feedmill {
namespace {

Feed read(const std::string& items, HtmlPolicy html = HtmlPolicy::strict) {
  DocumentHints hints;
  hints.url = "http://mirror.example/feed";
  hints.html = html;
  auto feed =
      read_feed("<rss version='2.0'><channel><link>http://site.example/</link>" + items + "</channel></rss>", hints);
  return std::move(feed.value());
}

TEST(Identity, IsTheGuidThenTheLinkThenADigest) {
  const Feed feed = read(
      "<item><guid>g</guid><link>http://l/</link></item><item><link>http://l/</link></item>"
      "<item><title>t</title></item><item><title>t</title></item><item><title>u</title></item>");
  EXPECT_EQ(feed.entries[0].guid, "g");
  EXPECT_EQ(feed.entries[1].guid, "http://l/");
  EXPECT_TRUE(feed.entries[2].guid.starts_with("digest:"));
  EXPECT_EQ(feed.entries[2].guid, feed.entries[3].guid);
  EXPECT_NE(feed.entries[2].guid, feed.entries[4].guid);
}

TEST(Identity, DependsOnNoPolicy) {
  const std::string item = "<item><description>&lt;p onclick='x'&gt;a&lt;/p&gt;</description></item>";
  EXPECT_EQ(read(item).entries[0].guid, read(item, HtmlPolicy::raw).entries[0].guid);
}

TEST(Identity, IsHashedWhenLong) {
  const Feed feed = read("<item><guid>" + std::string(2000, 'x') + "</guid></item>");
  EXPECT_TRUE(feed.entries[0].guid.starts_with("sha256:"));
  EXPECT_EQ(feed.entries[0].guid.size(), 7U + 64U);
}

TEST(Identity, OfTwoItemsUnderOneGuidIsToldApartByTheirLinks) {
  const Feed feed = read(
      "<item><guid isPermaLink='false'>g</guid><link>http://a/</link></item>"
      "<item><guid isPermaLink='false'>g</guid><link>http://b/</link></item>");
  EXPECT_NE(feed.entries[0].guid, feed.entries[1].guid);
}

TEST(Bases, AreTheEntrysPageThenTheSites) {
  const Feed feed = read(
      "<item><link>http://site.example/2020/post</link><description>&lt;a href='x'&gt;y&lt;/a&gt;"
      "</description></item><item><enclosure url='/e.mp3'/></item>");
  EXPECT_EQ(feed.entries[0].summary.value, "<a href=\"http://site.example/2020/x\">y</a>");
  EXPECT_EQ(feed.entries[1].enclosures[0].url, "http://site.example/e.mp3");
}

TEST(Enclosures, AreListedOnce) {
  const Feed feed = read(
      "<item><enclosure url='http://e/1' length='5'/><enclosure url='http://e/1'/>"
      "<enclosure url='http://e/2'/></item>");
  ASSERT_EQ(feed.entries[0].enclosures.size(), 2U);
  EXPECT_EQ(feed.entries[0].enclosures[0].length, 5U);
}

TEST(Values, AreCutUnlessTheyAreWantedWhole) {
  const std::string document =
      "<rss version='2.0'><channel><title>" + std::string(20000, 'x') + "</title></channel></rss>";
  DocumentHints hints;
  EXPECT_EQ(read_feed(document, hints).value().title.value.size(), 8192U);
  hints.whole_values = true;
  EXPECT_EQ(read_feed(document, hints).value().title.value.size(), 20000U);
}

}  // namespace
}  // namespace feedmill
