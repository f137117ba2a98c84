#include "parsers/markup/salvage.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace feedmill::salvage_test {
namespace {

struct SalvageCase {
  const char* name;
  const char* text;
  const char* repaired;
};

class Salvage : public testing::TestWithParam<SalvageCase> {};

TEST_P(Salvage, RepairsTheNesting) {
  EXPECT_EQ(salvage(GetParam().text).text, GetParam().repaired);
}

INSTANTIATE_TEST_SUITE_P(
    All, Salvage,
    testing::Values(SalvageCase{"Unclosed", "<rss><channel><title>x", "<rss><channel><title>x</title></channel></rss>"},
                    SalvageCase{"Ampersand", "<rss>a & b &amp; &nbsp; &x</rss>",
                                "<rss>a &amp; b &amp; &nbsp; &amp;x</rss>"},
                    SalvageCase{"LessThan", "<rss>1 < 2</rss>", "<rss>1 &lt; 2</rss>"},
                    SalvageCase{"Quotes", "<rss a=b c='\"' d c=2>x</rss>", "<rss a=\"b\" c=\"&quot;\" d=\"\">x</rss>"},
                    SalvageCase{"LostQuote", "<rss a=\"b><c d='e\"/>x</c><f g=\"h\"/></rss>",
                                "<rss a=\"b\"><c d=\"e&quot;/\">x</c><f g=\"h\"/></rss>"},
                    SalvageCase{"StrayEndTag", "<rss></b>x</rss>", "<rss>x</rss>"},
                    SalvageCase{"Crossed", "<rss><b><i>x</b></i></rss>", "<rss><b><i>x</i></b></rss>"},
                    SalvageCase{"OpenHtmlInDescription", "<rss><item><description><p>a<br>b</description></item></rss>",
                                "<rss><item><description><p>a<br/>b</p></description></item></rss>"},
                    SalvageCase{"ItemInItem", "<rss><item><title>a</title><item><title>b</title></item></rss>",
                                "<rss><item><title>a</title></item><item><title>b</title></item></rss>"},
                    SalvageCase{"JunkInFront", "<br />Warning: x<rss>y</rss>", "<rss>y</rss>"},
                    SalvageCase{"JunkBehind", "<rss>y</rss><script>z</script>", "<rss>y</rss>"},
                    SalvageCase{"InsideAPage", "<html><body><pre><rss>y</rss></pre></body></html>", "<rss>y</rss>"},
                    SalvageCase{"InsideAComment", "<html><!-- <rss>y</rss> --></html>", "<rss>y</rss>"},
                    SalvageCase{"OpenCdata", "<rss><![CDATA[x & y", "<rss><![CDATA[x & y]]></rss>"},
                    SalvageCase{"NoFeed", "<html><p>x</p></html>", ""},
                    SalvageCase{"NoName", "<html><:rss a>x</:rss><p>y</p></html>", ""}),
    [](const auto& test) { return test.param.name; });

TEST(SalvagedText, ReportsWhereItWasCut) {
  const auto ends = [](const char* text) {
    const Salvaged salvaged = salvage(text);
    return std::pair(salvaged.cut_short, salvaged.in_entry);
  };
  EXPECT_EQ(ends("<rss><channel><item>a & b</item></channel></rss>"), std::pair(false, false));
  EXPECT_EQ(ends("<rss><channel><item>a</item></channel>"), std::pair(true, false));
  EXPECT_EQ(ends("<rss><channel><item>a</item><item><title>b"), std::pair(true, true));
  EXPECT_EQ(ends("<rss><channel><item><description><![CDATA[<p>b</item>"), std::pair(true, true));
  EXPECT_EQ(ends("<feed><entry><content><p>b</entry></feed>"), std::pair(false, false));
  EXPECT_EQ(ends("<a:feed><a:entry><a:title>b"), std::pair(true, true));
  EXPECT_EQ(ends("no feed"), std::pair(false, false));
}

TEST(SalvagedText, SaysWhetherItEndedInWhatNamesAnEntry) {
  const auto in_name = [](const char* text) { return salvage(text).in_name; };
  EXPECT_TRUE(in_name("<rss><channel><item><guid>htt"));
  EXPECT_TRUE(in_name("<rss><channel><item><guid>http://a/1</gu"));
  EXPECT_TRUE(in_name("<a:feed><a:entry><a:id>x"));
  EXPECT_TRUE(in_name("<rss><channel><item><guid>1</guid><link>http://a/"));
  EXPECT_FALSE(in_name("<rss><channel><item><guid>1</guid>"));
  EXPECT_FALSE(in_name("<rss><channel><item><guid>1</guid><description>a"));
  EXPECT_FALSE(in_name("<rss><channel><item><guid>1<description>a")) << "it was never closed, and is over";
  EXPECT_FALSE(in_name("<rss><channel><link>http://a/")) << "the feed's";
  EXPECT_TRUE(in_name("<rss><channel><item><guid>1</guid><pubDate>Thu, 01 Jan 20"));
  EXPECT_TRUE(in_name("<feed><entry><id>1</id><updated>2026-01"));
  EXPECT_TRUE(in_name("<rss><channel><item><guid>1</guid><dc:date>2026-01"));
  EXPECT_FALSE(in_name("<rss><channel><item><guid>1</guid><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate>"));
}

TEST(SalvagedText, SaysWhetherABetterNameMayBeYetToCome) {
  const auto in_name = [](const char* text) { return salvage(text).in_name; };
  EXPECT_TRUE(in_name("<rss><channel><item><dc:identifier>doi:10.1/2"));
  EXPECT_TRUE(in_name("<rss><channel><item><dc:identifier>doi:10.1/2</dc:identifier><title>a"));
  EXPECT_FALSE(in_name("<rss><channel><item><dc:identifier>doi:1</dc:identifier><guid>1</guid><title>a"));
  EXPECT_TRUE(in_name("<rss><channel><item><guid>1</guid></item><item><title>a")) << "the one before it was named";
  EXPECT_TRUE(in_name("<rss><channel><item><atom:id>1</atom:id><title>a")) << "a guid counts more";
  EXPECT_TRUE(in_name("<feed><entry><source><id>1</id></source><title>a")) << "another's";
  EXPECT_TRUE(in_name("<feed><entry><yt:id>1</yt:id><title>a"));
  EXPECT_FALSE(in_name("<a:feed><a:entry><a:id>1</a:id><a:title>b"));
  EXPECT_FALSE(in_name("<rdf:RDF><item rdf:about='http://a/1'><title>a"));
  EXPECT_TRUE(in_name("<rdf:RDF><item><title>a"));
}

}  // namespace
}  // namespace feedmill::salvage_test
