// Hostile sizes (SECURITY §3, T18): deep, wide or long input costs in proportion to its size and still gives a result.
// worst_case.py measures the cost of adversarial shapes at growing sizes.
#include <string>

#include <gtest/gtest.h>

#include "parsers/feed/formats.hpp"
#include "parsers/feed/read_feed.hpp"
#include "parsers/lists/opml.hpp"
#include "parsers/markup/well_formed.hpp"

namespace feedmill::limits_test {
namespace {

std::string repeat(std::string_view part, std::size_t times) {
  std::string out;
  out.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

// The least text of a real post. The values of shorter posts take more memory than the documents' size allows.
const std::string words = repeat("words and more ", 20);

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
  const auto feed =
      read_feed("<rss version='2.0'><channel>" + repeat("<item><title>" + words + "</title></item>", 12'000), {});
  EXPECT_EQ(feed.value().entries.size(), 10'000U);
}

TEST(Limits, TheNewestEntriesAreKept) {
  std::string document = "<rss version='2.0'><channel>";
  for (int i = 0; i < 13'000; ++i) {
    document += "<item><guid>" + std::to_string(i) + "</guid><pubDate>" + std::to_string(1'500'000'000 + i) +
                "</pubDate><description>" + words + "</description></item>";
  }
  const auto feed = read_feed(document + "</channel></rss>", {});
  ASSERT_EQ(feed.value().entries.size(), 10'000U);
  EXPECT_EQ(feed.value().entries.front().id, "3000");
  EXPECT_EQ(feed.value().entries.back().id, "12999");
}

TEST(Limits, DeepJsonDoesNotAffectItsSiblings) {
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

// Values that many others inherit are capped where they are read, and held once (SECURITY L5, M2).

std::string atom(const std::string& attributes, const std::string& entries) {
  return "<feed xmlns='http://www.w3.org/2005/Atom' " + attributes + ">" + entries + "</feed>";
}

Feed read_at(const std::string& document, std::string_view url = "http://example.org/feed") {
  DocumentHints hints;
  hints.url = url;
  auto feed = read_feed(document, hints);
  EXPECT_TRUE(feed.has_value());
  return feed.has_value() ? std::move(*feed) : Feed();
}

TEST(Limits, ALongBaseIsNone) {
  const std::string entry = "<entry><link href='a'/><title>t</title></entry>";
  const std::string base = "http://h/" + repeat("d/", 1000);
  EXPECT_EQ(read_at(atom("xml:base='" + base + "'", entry)).entries.at(0).link, base + "a");
  const std::string longer = "xml:base='http://h/" + repeat("d/", 1100) + "'";
  EXPECT_EQ(read_at(atom(longer, entry)).entries.at(0).link, "http://example.org/a");
  const std::string page = "<link href='http://h/" + repeat("d/", 1100) + "'/>";
  const Feed feed = read_at(atom("", page + entry));
  EXPECT_EQ(feed.entries.at(0).link, "http://example.org/a");
  EXPECT_EQ(*feed.entries.at(0).title.base, "http://example.org/a");
}

TEST(Limits, ALongLanguageIsCut) {
  const Feed feed = read_at(atom("xml:lang='en" + repeat("-abcde", 1000) + "'", "<entry><title>t</title></entry>"));
  EXPECT_EQ(feed.entries.at(0).title.language->size(), 128U);
}

TEST(Limits, BaseAndLanguageAreHeldOnce) {
  const std::string entry = "<entry><title>t</title></entry>";
  const Feed feed = read_at(atom("xml:base='http://h/" + repeat("d/", 100) + "' xml:lang='en-GB'", entry + entry));
  EXPECT_EQ(&*feed.entries.at(0).title.base, &*feed.entries.at(1).title.base);
  EXPECT_EQ(&*feed.entries.at(0).title.language, &*feed.entries.at(1).title.language);
}

TEST(Limits, AuthorsOfAJsonFeedAreCappedAndHeldOnce) {
  const Feed feed = read_at(R"({"authors":[{"name":")" + repeat("n", 5000) + R"("}],"items":[{"id":1},{"id":2}]})");
  EXPECT_EQ(feed.entries.at(0).authors->at(0).name.size(), 1024U);
  EXPECT_EQ(&*feed.entries.at(0).authors, &*feed.entries.at(1).authors);
  EXPECT_EQ(&*feed.entries.at(0).author, &*feed.entries.at(1).author);
}

TEST(Limits, AuthorsOfAnItemPrecedeItsAuthor) {
  const Feed feed =
      read_at(R"({"items":[{"author":{"name":"a"},"authors":[{"name":"b"},{"name":"a"},{"name":"c"}]}]})");
  ASSERT_EQ(feed.entries.at(0).authors->size(), 3U);
  EXPECT_EQ(feed.entries.at(0).authors->at(0).name, "b");
  EXPECT_EQ(feed.entries.at(0).authors->at(1).name, "a");
  EXPECT_EQ(feed.entries.at(0).authors->at(2).name, "c");
}

// If the values of a document need more memory than its length allows, the entries read so far are returned and the
// feed is marked as cut short.
TEST(Limits, ModelFarLargerThanItsDocumentIsReadUpToACap) {
  const std::string base = "xml:base='http://h/" + repeat("d/", 1000) + "'";
  const Feed feed = read_at(atom(base, repeat("<entry><link href='a'/></entry>", 9000)));
  EXPECT_TRUE(feed.cut_short);
  EXPECT_EQ(feed.bozo, Bozo::truncated);
  EXPECT_GT(feed.entries.size(), 100U);
  EXPECT_LT(feed.entries.size(), 9000U);
  EXPECT_TRUE(feed.entries.back().cut_short);
  EXPECT_FALSE(feed.entries.front().cut_short);
}

TEST(Limits, RunsOfTextCountAsElementsDo) {
  const std::string document = "<rss>" + repeat("<a/>x", 100) + "</rss>";
  EXPECT_EQ(check_well_formed(document).tree_bytes, 201 * node_bytes);
  EXPECT_TRUE(check_well_formed(document, 201 * node_bytes).ok());
  EXPECT_TRUE(check_well_formed(document, 200 * node_bytes).limit);
}

TEST(Limits, ADocumentOfNothingButTagsKeepsTheEntriesBefore) {
  const auto feed = read_feed(head + repeat("<a/>x", 900'000) + "</channel></rss>", {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
  EXPECT_TRUE(feed.value().cut_short);
}

TEST(Limits, TooManyStepsEndWithAReason) {
  const std::string document = atom("", "<entry><title>t</title></entry>");
  Allowance allowance(document.size());
  EXPECT_TRUE(read_feed(document, {}, allowance).has_value());
  allowance.step(limits::reading_steps(document.size()));
  const auto feed = read_feed(document, {}, allowance);
  ASSERT_TRUE(feed.has_error());
  EXPECT_EQ(feed.error().code, ParseError::Code::limit);
}

TEST(Limits, NamesOfFoldersAreCut) {
  const Opml opml = read_opml("<opml><body><outline text='" + repeat("f", 1000) + "'><outline xmlUrl='a'/></outline>");
  EXPECT_EQ(opml.rows.at(0).folders.at(0).size(), 256U);
}

TEST(Limits, AListFarLargerThanItsFileIsReadUpToACap) {
  std::string file = "<opml><body>";
  for (int i = 0; i < 30; ++i) file += "<outline text='" + repeat("f", 256) + "'>";
  const Opml opml = read_opml(file + repeat("<outline xmlUrl='a'/>", 10'000));
  EXPECT_GT(opml.rows.size(), 100U);
  EXPECT_LT(opml.rows.size(), 10'000U);
  EXPECT_EQ(opml.problems.at(0).detail, "it has more elements than its length allows: the rest was not read");
}

}  // namespace
}  // namespace feedmill::limits_test
