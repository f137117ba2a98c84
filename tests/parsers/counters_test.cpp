#include <gtest/gtest.h>

#include "parsers/feed/item_hash.hpp"

namespace feedmill::counters_test {
namespace {

std::string without(std::string_view item) {
  std::string buffer;
  return std::string(without_counters(item, buffer));
}

TEST(Counters, AreKnownByPrefixAndName) {
  for (const auto& [prefix, name] : {std::pair{"slash", "comments"},
                                     {"slash", "hit_parade"},
                                     {"thr", "total"},
                                     {"media", "community"},
                                     {"nyaa", "seeders"},
                                     {"any", "viewCount"}}) {
    EXPECT_TRUE(is_counter(prefix, name)) << prefix << ":" << name;
  }
  for (const auto& [prefix, name] : {std::pair{"sport", "rank"}, {"shop", "total"}, {"podcast", "season"}, {"x", ""}}) {
    EXPECT_FALSE(is_counter(prefix, name)) << prefix << ":" << name;
  }
  EXPECT_FALSE(is_counter("x", std::string(1000, 'v')));
}

TEST(Counters, AreLeftOutOfAnItem) {
  EXPECT_EQ(without("<item><slash:comments>5</slash:comments><title>t</title></item>"),
            "<item><title>t</title></item>");
  EXPECT_EQ(without("<item><media:statistics views='1'/>t</item>"), "<item>t</item>");
  EXPECT_EQ(without("<link rel='replies' thr:count=\"5\" thr:updated='x' href='h'/>"),
            "<link rel='replies' href='h'/>");
}

TEST(Counters, AreNumbers) {
  EXPECT_EQ(without("<i><slash:comments> <![CDATA[5]]> </slash:comments><media:comments/>t</i>"), "<i>t</i>");
  EXPECT_EQ(without("<i><torznab:attr name=\"seeders\" value=\"5\"/><newznab:attr value='1' name='grabs'/>t</i>"),
            "<i>t</i>");
  EXPECT_EQ(without("<i><media:community><media:tags>news:5</media:tags></media:community>t</i>"), "<i>t</i>");
  EXPECT_EQ(
      without("<i><media:comments><media:comment>a</media:comment></media:comments><nyaa:seeders>1</nyaa:seeders>"),
      "<i><media:comments><media:comment>a</media:comment></media:comments>");
  for (const std::string_view item :
       {"<media:comments><media:comment>5 stars!</media:comment></media:comments>",
        "<media:comments><media:comment><![CDATA[<b>\u00fc</b>]]></media:comment></media:comments>",
        "<torznab:attr name='coverurl' value='https://e.org/1.jpg'/>", "<torznab:attr value='5'/>",
        "<torznab:attr name=", "<torznab:attr name='seeders", "<slash:comments>closed</slash:comments>"}) {
    EXPECT_EQ(without(item), item);
  }
}

TEST(Counters, AreSearchedInLinearTime) {
  std::string item;
  for (int i = 0; i < 200'000; ++i) item += "<media:comments>a";
  item += "</media:comments>";
  EXPECT_EQ(without(item), item);
}

TEST(Counters, StayWhereTheyAreText) {
  for (const std::string_view item :
       {"<item><comments>https://e.org/</comments></item>", "<![CDATA[<slash:comments>5</slash:comments>]]>",
        "<!-- <slash:comments>5</slash:comments> -->", "<slash:comments>5", "<slash:comments", "<", ""}) {
    EXPECT_EQ(without(item), item);
  }
}

}  // namespace
}  // namespace feedmill::counters_test
