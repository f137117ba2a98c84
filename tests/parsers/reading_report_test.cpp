#include "parsers/feed/reading_report.hpp"

#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"

namespace feedmill::reading_report_test {
namespace {

std::string lines(const Feed& feed) {
  std::string all;
  for (const Statement& statement : explain(feed)) {
    all.append(statement.topic).append(": ").append(statement.text).append("\n");
  }
  return all;
}

TEST(Explain, ReportsRepairsAndDecidingRules) {
  const auto feed =
      read_feed("<rss version='2.0'><channel><item><title>a & b</title><pubDate>soon</pubDate></item>", {});
  const std::string all = lines(feed.value());
  for (const char* part :
       {"format: rss20, RSS 2.0", "encoding: utf-8, by the default", "document: bozo, malformed-xml",
        "line 1: first fault", "read from a copy with repaired nesting", "base: relative URLs stay relative",
        "feed: lacks title, link, description", "1 by a digest", "without guid: entry 1 (\"a & b\")",
        "without link: entry 1", "not readable, kept as text only: entry 1 (\"soon\")", "date 1 (", "missing_guid 1 (",
        "structure 1 ("}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in:\n" << all;
  }
}

struct ExplainCase {
  const char* name;
  const char* document;
  const char* content_type;
  const char* line;  // a complete line of the report
};

class Explaining : public testing::TestWithParam<ExplainCase> {};

TEST_P(Explaining, NamesTheRule) {
  DocumentHints hints;
  hints.content_type = GetParam().content_type;
  hints.url = "http://mirror.example/feed";
  const auto feed = read_feed(GetParam().document, hints);
  ASSERT_TRUE(feed.has_value());
  const std::string all = lines(feed.value());
  EXPECT_NE(("\n" + all).find("\n" + std::string(GetParam().line) + "\n"), std::string::npos)
      << GetParam().line << " in:\n"
      << all;
}

INSTANTIATE_TEST_SUITE_P(
    All, Explaining,
    testing::Values(
        ExplainCase{"Legal", "<rss version='2.0'><channel/></rss>", "",
                    "document: legal: nothing had to be repaired or guessed"},
        ExplainCase{"Header", "<rss version='2.0'><channel/></rss>", "text/xml; charset=UTF-8",
                    "encoding: utf-8, by the Content-Type header"},
        ExplainCase{"ByteOrderMark", "\xEF\xBB\xBF<rss version='2.0'><channel/></rss>", "text/xml; charset=koi8-r",
                    "encoding: utf-8, by the byte order mark"},
        ExplainCase{"Declaration", "<?xml version='1.0' encoding='koi8-r'?><rss version='2.0'><channel/></rss>", "",
                    "encoding: koi8-r, by the XML declaration"},
        ExplainCase{"Detected", "<rss version='2.0'><channel><title>caf\xE9 \xE9t\xE9</title></channel></rss>", "",
                    "encoding: windows-1252, by what the bytes look like"},
        ExplainCase{"Overridden", "<rss version='2.0'><channel/></rss>", "text/xml; charset=nonsense",
                    "encoding: nonsense appears in the Content-Type header and cannot be right: it is unknown, the "
                    "bytes are not of it, or they are UTF-8"},
        ExplainCase{"Forbidden", "<rss version='2.0'><channel><title>a\x01z</title></channel></rss>", "",
                    "encoding: 1 character that XML forbids left out"},
        ExplainCase{"EncodingHidesNoFault", "<rss version='2.0'><channel>\n<title>a & b</title></channel></rss>",
                    "text/xml; charset=nonsense", "document: line 2: first fault: \"&\" that begins no reference"},
        ExplainCase{"Wrapped", "<page><rss version='2.0'><channel><title>t</title></channel></rss></page>", "",
                    "document: the feed was extracted from the document around it"},
        ExplainCase{"Type", "<rss version='2.0'><channel/></rss>", "text/plain",
                    "document: bozo, non-xml-content-type: text/plain; the content decides, not the Content-Type"},
        ExplainCase{"Base", "<rss version='2.0'><channel><link>http://site.example/</link></channel></rss>", "",
                    "base: relative URLs resolve against http://site.example/ where no xml:base says otherwise"},
        ExplainCase{"Told",
                    "<rss version='2.0' xmlns:a='http://www.w3.org/2005/Atom'><channel><ttl>60</ttl>"
                    "<a:link rel='hub' href='http://hub.example/'/></channel></rss>",
                    "", "feed: says: hub http://hub.example/, ttl 60 minutes"},
        ExplainCase{
            "Twice",
            "<rss version='2.0'><channel><item><guid>g</guid></item><item><guid>g</guid></item></channel></rss>", "",
            "guid: the same guid twice: entry 2 (as entry 1, \"g\"); distinguished by link; of those with equal links, "
            "the first stays"},
        ExplainCase{"Links",
                    "<rss version='2.0'><channel><item><link>http://a.example/1</link></item>"
                    "<item><guid>http://a.example/2</guid></item></channel></rss>",
                    "", "link: 1 from a link element, those for HTML first, 1 from a guid that is a permalink"},
        ExplainCase{"Dates",
                    "<rss version='2.0'><channel><item><pubDate>2004-01-01</pubDate></item><item/></channel></rss>", "",
                    "date: entries are dated: 1 by publication, 1 by the time they are first seen, for want of a date; "
                    "from 2004-01-01T00:00:00Z to 2004-01-01T00:00:00Z"},
        ExplainCase{"Text",
                    "<rss version='2.0'><channel><item><description>d</description><enclosure url='/a.mp3'/></item>"
                    "</channel></rss>",
                    "", "text: 1 entry: 1 with a summary only"},
        ExplainCase{"Extensions",
                    "<rss version='2.0' xmlns:p='https://podcastindex.org/namespace/1.0' xmlns:z='u'><channel>"
                    "<p:guid>x</p:guid><z:a/></channel></rss>",
                    "", "extensions: elements kept as they are: podcast 1, z 1 (unknown to us)"},
        ExplainCase{"Json", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[]}", "",
                    "format: json11, JSON Feed 1.1: by its \"version\""}),
    [](const auto& test) { return test.param.name; });

TEST(UnknownZones, AreReported) {
  const auto feed = read_feed(
      "<rss><channel><item><guid>1</guid><pubDate>Mon, 14 Jul 2025 10:20:30 XYZ</pubDate></item>"
      "<item><guid>2</guid><pubDate>Mon, 14 Jul 2025 10:20:30 Europe/Berlin</pubDate></item></channel></rss>",
      {});
  ASSERT_TRUE(feed.has_value());
  const std::pair<Flaw, std::uint32_t> flaw{Flaw::date, 1};
  EXPECT_EQ(feed->flaws, std::vector{flaw});
  EXPECT_NE(lines(*feed).find("in an unknown zone, read as UTC: entry 1 (\"Mon, 14 Jul 2025 10:20:30 XYZ\")"),
            std::string::npos);
}

TEST(Explain, NamesValuesOverTheirCap) {
  std::string document = "<rss version='2.0'><channel>";
  const std::string words(300, 'w');  // shorter entries would exceed the memory for their number
  for (int i = 0; i < 10'003; ++i) {
    document += "<item><guid>" + std::to_string(i) + "</guid><description>" + words + "</description></item>";
  }
  document += "<item><title>" + std::string(9000, 'x') + "</title><pubDate>2020-01-01</pubDate></item>";
  const std::string all = lines(read_feed(document + "</channel></rss>", {}).value());
  EXPECT_NE(all.find("entries: 10004 entries found, the newest 10000 kept (SECURITY §3)"), std::string::npos) << all;
  EXPECT_NE(all.find("truncated: entry 10000: over the cap (SECURITY §3): title"), std::string::npos) << all;
}

TEST(Explain, NamesThreeExamplesAndCountsTheOthers) {
  std::string document = "<rss version='2.0'><channel>";
  for (int i = 0; i < 8; ++i) document += "<item><guid>" + std::to_string(i) + "</guid><pubDate>soon</pubDate></item>";
  const std::string all = lines(read_feed(document + "</channel></rss>", {}).value());
  EXPECT_NE(all.find("entry 3 (\"soon\"), and 5 more\n"), std::string::npos) << all;
}

}  // namespace
}  // namespace feedmill::reading_report_test
