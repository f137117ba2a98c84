// The stores that a re-published post has passed through (WEBSUB U17).
#include <string>

#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"

namespace feedmill::trail_test {
namespace {

using Trail = std::vector<std::string>;

const std::string a = "0123456789abcdef0123456789abcdef", b(32, 'b');

Entry entry_of(const std::string& body) {
  const auto feed = read_feed(body, {});
  EXPECT_TRUE(feed) << body;
  EXPECT_EQ(feed->entries.size(), 1U) << body;
  return feed->entries.at(0);
}

std::string atom(const std::string& inner) {
  return "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='urn:feedmill:feed:1'><title>t</title><entry><id>1</id>"
         "<title>e</title>" +
         inner + "</entry></feed>";
}

std::string json(const std::string& member) {
  return R"({"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","content_text":"x","_feedmill":)" +
         member + "}]}";
}

std::string element(const std::string& id) {
  return "<m:via>" + id + "</m:via>";
}

// WEBSUB U17
TEST(Trail, IsReadOldestFirst) {
  EXPECT_EQ(entry_of(atom(element(a) + element(b))).via, (Trail{a, b}));
  EXPECT_EQ(entry_of(atom(element(" 0123456789ABCDEF0123456789abcdef\n"))).via, Trail{a});
  EXPECT_EQ(
      entry_of("<rss version='2.0' xmlns:feedmill='urn:feedmill:feed:1'><channel><item><guid>1</guid><feedmill:via>" +
               a + "</feedmill:via></item></channel></rss>")
          .via,
      Trail{a});
  EXPECT_EQ(entry_of(json(R"({"via":[")" + a + R"(",")" + b + R"("]})")).via, (Trail{a, b}));
  EXPECT_TRUE(entry_of(atom("")).via.empty());
  EXPECT_TRUE(entry_of(atom(element(a))).extensions.empty());
}

TEST(Trail, IsMadeOfIdsAlone) {
  for (const std::string& id : {std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'g'), std::string(),
                                std::string(100'000, 'a'), a + " " + b}) {
    EXPECT_TRUE(entry_of(atom(element(id))).via.empty()) << id.substr(0, 70);
    EXPECT_TRUE(entry_of(json(R"({"via":[")" + id + R"("]})")).via.empty()) << id.substr(0, 70);
  }
  EXPECT_EQ(entry_of(json(R"({"via":[1,null,{"a":1},["x"],")" + a + R"("]})")).via, Trail{a});
  EXPECT_TRUE(entry_of(json(R"({"via":")" + a + R"("})")).via.empty());
  EXPECT_TRUE(entry_of(json("7")).via.empty());
}

TEST(Trail, IsCappedOneAboveTheLimit) {
  std::string elements, ids;
  for (int i = 0; i < 1000; ++i) {
    elements += element(a);
    ids += (i == 0 ? "\"" : ",\"") + a + "\"";
  }
  EXPECT_EQ(entry_of(atom(elements)).via.size(), 17U);
  EXPECT_EQ(entry_of(json("{\"via\":[" + ids + "]}")).via.size(), 17U);
}

TEST(Trail, OfAPostNamesItsFeed) {
  const Entry entry = entry_of(json(
      R"({"source":{"id":"urn:x","title":"T","home_page_url":"https://example.org/","feed_url":"https://example.org/f"}})"));
  ASSERT_EQ(entry.source.size(), 1U);
  EXPECT_EQ(entry.source[0].id, "urn:x");
  EXPECT_EQ(entry.source[0].title.value, "T");
  EXPECT_EQ(entry.source[0].link, "https://example.org/");
  EXPECT_EQ(entry.source[0].url, "https://example.org/f");
  EXPECT_TRUE(entry.extensions.empty());
}

}  // namespace
}  // namespace feedmill::trail_test
