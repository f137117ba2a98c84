#include "parsers/feed/read_feed.hpp"

#include <gtest/gtest.h>

#include "parsers/feed/document_json.hpp"

namespace feedmill::read_feed_test {
namespace {

struct FormatCase {
  const char* name;
  const char* document;
  const char* format;
};

class Formats : public testing::TestWithParam<FormatCase> {};

TEST_P(Formats, AreRecognisedFromContent) {
  const auto feed = read_feed(GetParam().document, {});
  ASSERT_TRUE(feed.has_value()) << feed.error().detail;
  EXPECT_EQ(format_name(feed.value().format), GetParam().format);
}

INSTANTIATE_TEST_SUITE_P(
    All, Formats,
    testing::Values(
        FormatCase{"Rss20", "<rss version='2.0'><channel/></rss>", "rss20"},
        FormatCase{"Rss201", "<rss version='2.0.1'/>", "rss20"},
        FormatCase{"Rss091Userland", "<rss version='0.91'/>", "rss091u"},
        FormatCase{"Rss091Netscape",
                   "<!DOCTYPE rss PUBLIC '-//Netscape Communications//DTD RSS 0.91//EN' 'x'><rss version='0.91'/>",
                   "rss091n"},
        FormatCase{"Rss092", "<rss version='0.92'/>", "rss092"}, FormatCase{"RssUnknown", "<rss/>", "rss"},
        FormatCase{"Rss090",
                   "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
                   "xmlns='http://my.netscape.com/rdf/simple/0.9/'/>",
                   "rss090"},
        FormatCase{
            "Rss10",
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'/>",
            "rss10"},
        FormatCase{"Rss11", "<Channel xmlns='http://purl.org/net/rss1.1#'/>", "rss11"},
        FormatCase{"Atom10", "<feed xmlns='http://www.w3.org/2005/Atom'/>", "atom10"},
        FormatCase{"Atom10Prefixed", "<x:feed xmlns:x='http://www.w3.org/2005/Atom'/>", "atom10"},
        FormatCase{"Atom03", "<feed version='0.3' xmlns='http://purl.org/atom/ns#'/>", "atom03"},
        FormatCase{"Rss093", "<rss version='0.93'/>", "rss093"},
        FormatCase{"Rss094", "<rss version='0.94'/>", "rss094"},
        FormatCase{"Atom01", "<feed version='0.1' xmlns='http://purl.org/atom/ns#'/>", "atom01"},
        FormatCase{"Atom02", "<feed version='0.2' xmlns='http://purl.org/atom/ns#'/>", "atom02"},
        FormatCase{"AtomUnknown", "<feed/>", "atom"},
        FormatCase{"Cdf", "<CHANNEL HREF='http://a/'><ITEM/></CHANNEL>", "cdf"},
        FormatCase{"Json1", "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[]}", "json1"},
        FormatCase{"Json11", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[]}", "json11"}),
    [](const auto& test) { return test.param.name; });

TEST(ReadFeed, RejectsDocumentsThatAreNotFeeds) {
  for (const char* document :
       {"", "   ", "hello", "<html><body>x</body></html>", "<opml version='1.0'/>", "{}", "[1]", "{\"a\":1}",
        "<?xml version='1.0'?>", "\x89PNG\r\n\x1a\n", "<svg xmlns='http://www.w3.org/2000/svg'/>"}) {
    EXPECT_TRUE(read_feed(document, {}).has_error()) << document;
  }
  EXPECT_EQ(read_feed(" \n", {}).error().code, ParseError::Code::empty);
  EXPECT_EQ(read_feed("<html/>", {}).error().code, ParseError::Code::not_a_feed);
}

Bozo bozo_of(const char* document, const char* type = "") {
  DocumentHints hints;
  hints.content_type = type;
  return read_feed(document, hints).value().bozo;
}

TEST(ReadFeed, ReportsRepairs) {
  EXPECT_EQ(bozo_of("<rss version='2.0'><channel><title>&amp;</title></channel></rss>"), Bozo::none);
  EXPECT_EQ(bozo_of("<rss version='2.0'><channel><title>&nbsp;</title></channel></rss>"), Bozo::undefined_entity);
  EXPECT_EQ(bozo_of("<rss version='2.0'><channel><dc:title>x</dc:title></channel></rss>"), Bozo::undeclared_namespace);
  EXPECT_EQ(bozo_of("<rss version='2.0'><channel><title>x"), Bozo::truncated);
  EXPECT_EQ(bozo_of("<rss version='2.0'><channel><b></channel></rss>"), Bozo::malformed_xml);
  EXPECT_EQ(bozo_of("<rss version='2.0'/>", "text/plain"), Bozo::non_xml_content_type);
  EXPECT_EQ(bozo_of("<rss version='2.0'/>", "application/rss+xml; charset=utf-8"), Bozo::none);
  EXPECT_EQ(bozo_of("{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[],}"), Bozo::malformed_json);
}

TEST(ReadFeed, ReadsUndeclaredButUsualPrefixes) {
  const auto feed =
      read_feed("<rss version='2.0'><channel><item><dc:creator>Jo</dc:creator></item></channel></rss>", {});
  EXPECT_EQ(*feed.value().entries[0].author, "Jo");
}

TEST(ReadFeed, KnowsNamespacesByUriNotByPrefix) {
  const auto feed = read_feed(
      "<rss version='2.0' xmlns:dc='http://search.yahoo.com/mrss/' xmlns:media='http://purl.org/dc/elements/1.1/'>"
      "<channel><item><media:creator>Jo</media:creator><dc:thumbnail url='http://t/'/></item></channel></rss>",
      {});
  EXPECT_EQ(*feed.value().entries[0].author, "Jo");
  EXPECT_EQ(feed.value().entries[0].media->thumbnails.size(), 1U);
}

TEST(ReadFeed, ExpandsNoBombAndOpensNoFile) {
  std::string bomb = "<!DOCTYPE rss [<!ENTITY a 'ha'>";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " '&" + static_cast<char>(c - 1) + ";&" + static_cast<char>(c - 1) + ";'>";
  }
  bomb +=
      "<!ENTITY file SYSTEM 'file:///etc/passwd'>]><rss "
      "version='2.0'><channel><title>&z;&file;</title></channel></rss>";
  EXPECT_EQ(read_feed(bomb, {}).value().title.value, "&z;&file;");
}

TEST(ReadFeed, ResolvesAgainstTheContentLocation) {
  DocumentHints hints;
  hints.url = "http://a/x/feed";
  hints.content_location = "/b/feed";
  const Feed feed = read_feed("<rss version='2.0'><channel><docs>c</docs></channel></rss>", hints).value();
  EXPECT_EQ(feed.docs, "http://a/b/c");
}

TEST(ReadFeed, TakesHeadersThatHoldNonsenseAsAbsent) {
  DocumentHints hints;
  hints.url = "http://a/";
  hints.content_type = "text/xml; charset=\xFF\xFE";
  hints.content_location = "javascript:alert(1)";
  hints.content_language = "e\xFFn";
  const Feed feed = read_feed("<rss version='2.0'><channel><docs>x</docs></channel></rss>", hints).value();
  EXPECT_EQ(feed.docs, "http://a/x");
  EXPECT_EQ(feed.language, "");
}

TEST(ReadFeed, TakesAnIntegerOfMoreThan64BitsAsText) {
  const Feed feed =
      read_feed(R"({"version":"https://jsonfeed.org/version/1.1","title":"t","_x":{"a":-99999999999999999999},
                                  "items":[{"id":99999999999999999999,"content_text":"y"}]})",
                {})
          .value();
  ASSERT_EQ(feed.entries.size(), 1U);
  EXPECT_EQ(feed.entries.front().id, "99999999999999999999");
}

TEST(ReadFeed, KeepsCredentialsInAddresses) {
  const Feed feed = read_feed(
                        "<rss version='2.0'><channel><item><enclosure url='https://me:pass@a.example/e.mp3'/>"
                        "</item></channel></rss>",
                        {})
                        .value();
  ASSERT_EQ(feed.entries.size(), 1U);
  EXPECT_EQ(feed.entries.front().enclosures.at(0).url, "https://me:pass@a.example/e.mp3");
}

TEST(ReadFeed, DropsMediaValuesWithBidirectionalControls) {
  const Feed feed = read_feed(
                        "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><item>"
                        "<media:thumbnail url='http://a/t' time='\u202e01'/><media:credit role='\u2066x'>Ann"
                        "</media:credit></item></channel></rss>",
                        {})
                        .value();
  ASSERT_EQ(feed.entries.size(), 1U);
  ASSERT_TRUE(feed.entries.front().media);
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(feed.entries.front().media->thumbnails.at(0), (Attributes{{"url", "http://a/t"}}));
  EXPECT_EQ(feed.entries.front().media->credits.at(0), (Attributes{{"value", "Ann"}}));
}

}  // namespace
}  // namespace feedmill::read_feed_test
