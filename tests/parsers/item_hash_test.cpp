// Items with a known hash are skipped; all other items are read as they would be without hashes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/formats.hpp"
#include "parsers/feed/read_feed.hpp"

namespace feedmill::item_hash_test {
namespace {

DocumentHints hashing() {
  DocumentHints hints;
  hints.url = "https://example.org/feed";
  hints.hash_items = true;
  return hints;
}

Feed read(const std::string& body, const DocumentHints& hints = hashing()) {
  auto feed = read_feed(body, hints);
  EXPECT_TRUE(feed) << body;
  return feed ? std::move(*feed) : Feed();
}

std::vector<std::uint64_t> hashes(const std::string& body, const DocumentHints& hints = hashing()) {
  std::vector<std::uint64_t> all;
  for (const Entry& entry : read(body, hints).entries) all.push_back(entry.item_hash);
  return all;
}

/// Reads `body` again with the item hashes of `before`.
Feed read_again(const std::string& body, const Feed& before) {
  std::vector<std::uint64_t> known;
  for (const Entry& entry : before.entries) {
    if (entry.item_hash != 0) known.push_back(entry.item_hash);
  }
  std::sort(known.begin(), known.end());
  DocumentHints hints = hashing();
  hints.known = known;
  hints.context = before.context;
  return read(body, hints);
}

std::string rss(const std::string& head, const std::vector<std::string>& items, const std::string& root = "") {
  std::string xml = "<rss version='2.0'" + root + "><channel><title>T</title>" + head;
  for (const std::string& item : items) xml += "<item>" + item + "</item>\n";
  return xml + "</channel></rss>";
}

const std::string first =
    "<guid isPermaLink='false'>a</guid><description>A &lt;a href='/x'&gt;x&lt;/a&gt;</description>";
const std::string second = "<guid isPermaLink='false'>b</guid><title>B</title>";

TEST(ItemHash, IsOfTheItemAndOfAllThatItsReadingDependsOn) {
  const std::string link = "<link>https://example.org/</link>";
  const auto usual = hashes(rss(link, {first, second}));
  ASSERT_EQ(usual.size(), 2U);
  EXPECT_NE(usual[0], 0U);
  EXPECT_NE(usual[0], usual[1]);
  EXPECT_EQ(hashes(rss(link, {second, first})), (std::vector{usual[1], usual[0]}));
  EXPECT_EQ(hashes(rss(link + "<lastBuildDate>now</lastBuildDate>", {first})).at(0), usual[0]);
  EXPECT_EQ(hashes(rss(link, {first}) + "<!-- built in 3 ms -->").at(0), usual[0]);
  EXPECT_NE(hashes(rss(link, {first + " "})).at(0), usual[0]);
  EXPECT_NE(hashes(rss("<link>https://other.example/</link>", {first})).at(0), usual[0])
      << "what links resolve against";
  EXPECT_NE(hashes(rss(link, {first}, " xml:base='https://base.example/'")).at(0), usual[0]);
  EXPECT_NE(hashes(rss(link, {first}, " xml:lang='de'")).at(0), usual[0]);
  EXPECT_NE(hashes(rss(link, {first}, " xmlns:a='urn:a'")).at(0), usual[0]);
  DocumentHints other = hashing();
  other.html = HtmlPolicy::raw;
  EXPECT_NE(hashes(rss(link, {first}), other).at(0), usual[0]);
  other = hashing();
  other.url = "https://mirror.example/feed";
  EXPECT_NE(hashes(rss("", {first}), other).at(0), hashes(rss("", {first})).at(0));
}

TEST(ItemHash, IsNoneWhereTheSourceDoesNotTellOrTheItemHasFlaws) {
  EXPECT_EQ(hashes("<!DOCTYPE rss [<!ENTITY x 'y'>]>" + rss("", {first})).at(0), 0U) << "entities of its own";
  EXPECT_EQ(hashes(rss("", {first + "<b>"})).at(0), 0U) << "repaired";
  EXPECT_EQ(hashes(rss("", {first + "<pubDate>when?</pubDate>"})).at(0), 0U) << "a flaw is counted each time";
  EXPECT_EQ(hashes(rss("", {"<title>neither guid nor link</title>"})).at(0), 0U);
  DocumentHints unwanted = hashing();
  unwanted.hash_items = false;
  EXPECT_EQ(hashes(rss("", {first}), unwanted).at(0), 0U);
}

TEST(ItemHash, KnownItemsAreCountedInTheirPlaces) {
  const Feed before = read(rss("", {first, second}));
  const Feed again = read_again(rss("", {first, "<guid>c</guid>", second}), before);
  ASSERT_EQ(again.entries.size(), 1U);
  EXPECT_EQ(again.entries[0].guid, "c");
  ASSERT_EQ(again.known.size(), 2U);
  EXPECT_EQ(again.known[0].place, 0U);
  EXPECT_EQ(again.known[1].place, 2U);
  EXPECT_EQ(again.known[1].hash, before.entries[1].item_hash);
  EXPECT_EQ(again.account.entries, 3U);
}

TEST(ItemHash, ReparsesEverythingWhenTheChannelChanges) {
  const std::string json_head =
      "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T\",\"authors\":[{\"name\":\"";
  const std::string json_items = "\"}],\"items\":[{\"id\":\"a\",\"content_text\":\"A\"}]}";
  const Feed before = read(json_head + "Ann" + json_items);
  EXPECT_EQ(read_again(json_head + "Ann" + json_items, before).known.size(), 1U);
  const Feed other = read_again(json_head + "Bob" + json_items, before);
  EXPECT_TRUE(other.known.empty());
  ASSERT_EQ(other.entries.size(), 1U);
  EXPECT_EQ(other.entries[0].authors->front().name, "Bob") << "items inherit them";
}

TEST(ItemHash, AllIsReadWhenTheFeedsAuthorOrLanguageIsAnother) {
  const auto atom = [](const std::string& head) {
    return "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id>" + head + "<entry><id>1</id></entry></feed>";
  };
  const Feed before = read(atom("<author><name>Ann</name></author>"));
  EXPECT_EQ(read_again(atom("<author><name>Ann</name></author>"), before).known.size(), 1U);
  EXPECT_EQ(read_again(atom("<author><name>Bob</name></author>"), before).known.size(), 0U);
  const Feed german = read(rss("<language>de</language>", {first}));
  EXPECT_EQ(read_again(rss("<language>de</language>", {first}), german).known.size(), 1U);
  EXPECT_EQ(*read_again(rss("<language>fr</language>", {first}), german).entries.at(0).language, "fr");
}

TEST(ItemHash, TheNewestDatesOfAJsonFeedsItemsAreStillItsOwn) {
  const std::string body =
      R"({"version":"https://jsonfeed.org/version/1","title":"T","items":[{"id":"a","content_text":"A",)"
      R"("date_modified":"2026-01-02T03:04:05Z"},{"id":"b","content_text":"B"}]})";
  const Feed before = read(body), again = read_again(body, before);
  EXPECT_EQ(again.known.size(), 2U);
  EXPECT_EQ(again.updated, before.updated);
}

std::vector<std::filesystem::path> documents(const std::vector<std::string>& more = {}) {
  std::vector<std::filesystem::path> all;
  std::vector<std::string> folders{"atom", "broken", "cdf", "json", "namespaces", "rdf", "rss"};
  folders.insert(folders.end(), more.begin(), more.end());
  for (const std::string& folder : folders) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(FEEDMILL_TEST_DATA) / folder)) {
      if (file.is_regular_file() && file.path().extension() != ".golden") all.push_back(file.path());
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ItemHash, YieldsTheSameResultForEachDocumentAsWithoutIt) {
  std::size_t passed = 0;
  for (const auto& path : documents()) {
    const std::string body = content(path);
    auto whole = read_feed(body, hashing());
    if (!whole) continue;
    Feed again = read_again(body, *whole);
    passed += again.known.size();
    for (const KnownItem& item : again.known) {  // the caller knows whether skipped items have guids
      if (whole->entries[item.place].id.empty()) add_flaw(again, Flaw::missing_guid);
    }
    for (Feed* feed : {&again, &*whole}) std::ranges::sort(feed->flaws);
    std::vector<Entry> merged;
    auto known = again.known.begin();
    for (Entry& entry : again.entries) {
      for (; known != again.known.end() && known->place == merged.size(); ++known)
        merged.push_back(whole->entries[merged.size()]);
      merged.push_back(std::move(entry));
    }
    for (; known != again.known.end(); ++known) merged.push_back(whole->entries[merged.size()]);
    again.entries = std::move(merged);
    again.known.clear();
    EXPECT_EQ(again, *whole) << path;
  }
  EXPECT_GT(passed, 10U);
}

// If this fails, some document is now read differently: raise reader_version and put the new number here, so that
// documents read by the old rules are read again.
TEST(ItemHash, ReaderVersionIsRaisedWhenReadingChanges) {
  std::uint64_t read_now = reader_version;
  for (const auto& path : documents({"reading", "stored"})) {
    DocumentHints hints;
    hints.url = "https://example.org/feed";
    const auto feed = read_feed(content(path), hints);
    const std::string text = feed ? document_json(*feed) : "none";
    read_now = XXH3_64bits_withSeed(text.data(), text.size(), read_now);
  }
  EXPECT_EQ(read_now, 3678125368470518142U);
}

}  // namespace
}  // namespace feedmill::item_hash_test
