#include "parsers/lists/opml.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::opml_test {
namespace {

std::string body(const std::string& outlines) {
  return "<?xml version=\"1.0\"?>\n<opml version=\"2.0\"><head><title>t</title></head><body>\n" + outlines +
         "\n</body></opml>\n";
}

std::vector<std::string> urls(const Opml& opml) {
  std::vector<std::string> found;
  for (const OpmlRow& row : opml.rows) found.push_back(row.url);
  return found;
}

std::string told(const Opml& opml) {
  std::string all;
  for (const OpmlProblem& problem : opml.problems) {
    all += (problem.kind == OpmlProblem::Kind::broken ? "broken " : "refused ") + std::to_string(problem.line) + ": " +
           problem.detail + "\n";
  }
  return all;
}

using Urls = std::vector<std::string>;
using Folders = std::vector<std::string>;

TEST(Opml, ReadsFoldersAndAttributesOfEachFeed) {
  const Opml opml =
      read_opml(body("<outline text=\"News\"><outline title=\"Tech &amp; co\">\n"
                     "<outline type=\"rss\" text=\"A\" xmlUrl=\" http://a.example/f?x=1&amp;y=2 \" "
                     "htmlURL='http://a.example/' odd=\"1\"/>\n"
                     "</outline></outline><outline xmlUrl=\"http://b.example/\"></outline>"));
  ASSERT_EQ(opml.rows.size(), 2U);
  EXPECT_EQ(opml.rows[0].line, 4U);
  EXPECT_EQ(opml.rows[0].url, "http://a.example/f?x=1&y=2");
  EXPECT_EQ(opml.rows[0].folders, (Folders{"News", "Tech & co"}));
  EXPECT_EQ(opml.rows[0].attributes,
            (OpmlAttributes{{"type", "rss"}, {"text", "A"}, {"htmlUrl", "http://a.example/"}, {"odd", "1"}}));
  EXPECT_EQ(opml.rows[1].folders, Folders{});
  EXPECT_EQ(told(opml), "");
}

TEST(Opml, KeepsForeignNamespaces) {
  const Opml opml = read_opml(
      "<opml version=\"2.0\" xmlns:x=\"urn:x\"><body><outline xmlUrl=\"http://a.example/\" x:id=\"7\"/></body></opml>");
  ASSERT_EQ(opml.rows.size(), 1U);
  EXPECT_EQ(opml.rows[0].attributes, (OpmlAttributes{{"x:id", "7"}}));
  EXPECT_EQ(opml.namespaces, (OpmlAttributes{{"x", "urn:x"}}));
  EXPECT_EQ(told(opml), "");
}

struct OutlineCase {
  const char* name;
  const char* outline;
  const char* url;  // "" if it is not a feed
};
class Outlines : public testing::TestWithParam<OutlineCase> {};
TEST_P(Outlines, AreFeedsOrNot) {
  const Opml opml = read_opml(body(GetParam().outline));
  EXPECT_EQ(urls(opml), *GetParam().url == '\0' ? Urls{} : Urls{GetParam().url});
}
INSTANTIATE_TEST_SUITE_P(
    All, Outlines,
    testing::Values(
        OutlineCase{"LowerCase", "<outline xmlurl=\"http://a.example/\"/>", "http://a.example/"},
        OutlineCase{"UpperCase", "<outline XMLURL=\"http://a.example/\"/>", "http://a.example/"},
        OutlineCase{"UpperElement", "<OUTLINE xmlUrl=\"http://a.example/\"/>", "http://a.example/"},
        OutlineCase{"UrlOfTypeRss", "<outline type=\"RSS\" url=\"http://a.example/\"/>", "http://a.example/"},
        OutlineCase{"LinkIsNoFeed", "<outline type=\"link\" url=\"http://a.example/\"/>", ""},
        OutlineCase{"InsideComment", "<!-- <outline xmlUrl=\"http://a.example/\"/> -->", ""},
        OutlineCase{"InsideCdata", "<![CDATA[<outline xmlUrl=\"http://a.example/\"/>]]>", ""},
        OutlineCase{"NumericReference", "<outline xmlUrl=\"http&#58;//a.example&#x2f;\"/>", "http://a.example/"}),
    [](const auto& test) { return test.param.name; });

struct BrokenCase {
  const char* name;
  const char* text;
  Urls urls;
  const char* told;  // the first problem reported
};
class BrokenOpml : public testing::TestWithParam<BrokenCase> {};
TEST_P(BrokenOpml, YieldsReadableRows) {
  const Opml opml = read_opml(GetParam().text);
  EXPECT_EQ(urls(opml), GetParam().urls);
  EXPECT_EQ(told(opml).substr(0, told(opml).find('\n')), GetParam().told);
}
INSTANTIATE_TEST_SUITE_P(
    All, BrokenOpml,
    testing::Values(
        BrokenCase{"Empty", "", {}, "broken 1: no element in it"},
        BrokenCase{"NoBody", "<opml version=\"1.0\">\n<head/></opml>", {}, "broken 2: there is no <body>"},
        BrokenCase{"OtherRoot",
                   "<not-opml><body><outline xmlUrl=\"http://a.example/\"/></body></not-opml>",
                   {"http://a.example/"},
                   "broken 1: the root element is <not-opml>, not <opml>"},
        BrokenCase{"TruncatedBetweenTags",
                   "<opml><body>\n<outline xmlUrl=\"http://a.example/\"/>\n",
                   {"http://a.example/"},
                   "broken 3: the file ends while <body> of line 1 is open"},
        BrokenCase{"TruncatedInsideAddress",
                   "<opml><body>\n<outline xmlUrl=\"http://a.example/\"/>\n<outline xmlUrl=\"http://b.exam",
                   {"http://a.example/"},
                   "broken 3: the file ends inside attribute xmlUrl"},
        BrokenCase{
            "MissingQuote",
            "<opml><body>\n<outline xmlUrl=\"http://a.example/>\n<outline xmlUrl='http://b.example/'/></body></opml>",
            {"http://b.example/"},
            "broken 2: attribute xmlUrl without its closing quote"},
        BrokenCase{
            "QuotesInADescription",
            "<opml><body>\n<outline description=\"In \"Hardcore\", he\" xmlUrl=\"http://a.example/\"/></body></opml>",
            {"http://a.example/"},
            "broken 2: an unescaped quote in attribute description"},
        BrokenCase{"MarkupInADescription",
                   "<opml><body>\n<outline description=\"<p>at <a href=\"https://b.example/\">b</a></p>\" "
                   "xmlUrl=\"http://a.example/\"/></body></opml>",
                   {"http://a.example/"},
                   "broken 2: an unescaped \"<\" in attribute description"},
        BrokenCase{"LessThanInAName",
                   "<opml><body>\n<outline text=\"a < b\" xmlUrl=\"http://a.example/\"/></body></opml>",
                   {"http://a.example/"},
                   "broken 2: an unescaped \"<\" in attribute text"},
        BrokenCase{"NoSpace",
                   "<opml><body>\n<outline text=\"a\"xmlUrl=\"http://a.example/\"/></body></opml>",
                   {"http://a.example/"},
                   "broken 2: no space between attributes"},
        BrokenCase{"BareAmpersand",
                   "<opml><body>\n<outline xmlUrl=\"http://a.example/?x&y=1\"/></body></opml>",
                   {"http://a.example/?x&y=1"},
                   "broken 2: an unescaped \"&\""},
        BrokenCase{"UnclosedFolder",
                   "<opml><body>\n<outline text=\"f\">\n<outline xmlUrl=\"http://a.example/\"/></body></opml>",
                   {"http://a.example/"},
                   "broken 3: </body> while <outline> of line 2 is open"},
        BrokenCase{"NoQuotes",
                   "<opml><body><outline xmlUrl=http://a.example/ text=x></outline></body></opml>",
                   {"http://a.example/"},
                   "broken 1: attribute xmlUrl without quotes"},
        BrokenCase{"NoAddress",
                   "<opml><body>\n<outline type=\"rss\" text=\"x\"/></body></opml>",
                   {},
                   "refused 2: type is \"rss\" but xmlUrl is missing"},
        BrokenCase{
            "EmptyAddress", "<opml><body>\n<outline xmlUrl=\" \"/></body></opml>", {}, "refused 2: xmlUrl is empty"},
        BrokenCase{"UndeclaredPrefix",
                   "<opml><body>\n<outline y:a=\"1\" xmlUrl=\"http://a.example/\"/></body></opml>",
                   {"http://a.example/"},
                   "broken 2: prefix y is not declared"}),
    [](const auto& test) { return test.param.name; });

TEST(Opml, ReadsNoEntityOfADoctype) {
  const Opml opml = read_opml(
      "<!DOCTYPE opml [<!ENTITY a \"aaaa\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]>\n"
      "<opml><body><outline xmlUrl=\"http://a.example/\" text=\"&f;\"/></body></opml>");
  ASSERT_EQ(opml.rows.size(), 1U);
  EXPECT_EQ(opml.rows[0].attributes, (OpmlAttributes{{"text", "&f;"}}));
}

TEST(Opml, DecodesWhatTheDeclarationNames) {
  const Opml opml = read_opml(
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><opml><body><outline text=\"caf\xE9\" "
      "xmlUrl=\"http://a.example/\"/></body></opml>");
  ASSERT_EQ(opml.rows.size(), 1U);
  EXPECT_EQ(opml.rows[0].attributes, (OpmlAttributes{{"text", "café"}}));
}

TEST(Opml, RejectsDeepNesting) {
  std::string nested;
  for (std::size_t i = 0; i + 1 < max_opml_depth; ++i) nested += "<outline text=\"f\">";
  nested +=
      "<outline xmlUrl=\"http://deep.example/\"/>\n<outline text=\"f\"><outline "
      "xmlUrl=\"http://deeper.example/\"/></outline>";
  for (std::size_t i = 0; i + 1 < max_opml_depth; ++i) nested += "</outline>";
  const Opml opml = read_opml(body(nested + "<outline xmlUrl=\"http://top.example/\"/>"));
  EXPECT_EQ(urls(opml), (Urls{"http://deep.example/", "http://top.example/"}));
  EXPECT_EQ(told(opml), "refused 4: nested deeper than 32 outlines\n");
  EXPECT_EQ(opml.rows[1].folders, Folders{});
}

TEST(Opml, StopsAtTheRowLimit) {
  std::string many;
  for (std::size_t i = 0; i < max_opml_rows + 5; ++i) many += "<outline xmlUrl=\"http://a.example/\"/>\n";
  const Opml opml = read_opml(body(many));
  EXPECT_EQ(opml.rows.size(), max_opml_rows);
  EXPECT_EQ(told(opml), "broken 200003: more than 200000 feeds: the rest was not read\n");
}

TEST(Opml, StaysLinearOnHostileInput) {  // each took minutes while every "<" started a new search
  const std::size_t times = 300'000;
  for (const char* const part : {"<!--", "<![CDATA[", "<?", "<!", "<outline ", "<a>", "</a>", "<a x='", "<a x=\"<",
                                 "a=\"\" z", "a='\" z", "<p x=\"", "&"}) {
    std::string text = "<opml><body><outline ";
    for (std::size_t i = 0; i < times; ++i) text += part;
    EXPECT_EQ(read_opml(text).rows.size(), 0U) << part;
  }
}

TEST(Opml, RoundTrips) {
  const OpmlAttributes one{{"type", "rss"}, {"text", "A \"quoted\" & more"}, {"xmlUrl", "http://a.example/?x=1&y=2"}};
  OpmlWriter writer("feeds", "Sat, 21 Nov 2026 13:00:00 GMT");
  writer.row({}, {{"text", "B"}, {"xmlUrl", "http://b.example/"}, {"xmlns:x", "urn:x"}, {"x:id", "7"}});
  writer.row(Folders{"News"}, one);
  writer.row(Folders{"News", "Tech <co>"}, one);
  writer.end();
  const std::string text = writer.take();
  const Opml opml = read_opml(text);
  EXPECT_EQ(told(opml), "");
  ASSERT_EQ(opml.rows.size(), 3U);
  EXPECT_EQ(opml.rows[0].url, "http://b.example/");
  EXPECT_EQ(opml.rows[1].folders, (Folders{"News"}));
  EXPECT_EQ(opml.rows[2].folders, (Folders{"News", "Tech <co>"}));
  EXPECT_EQ(opml.rows[2].attributes, (OpmlAttributes{{"type", "rss"}, {"text", "A \"quoted\" & more"}}));
}

}  // namespace
}  // namespace feedmill::opml_test
