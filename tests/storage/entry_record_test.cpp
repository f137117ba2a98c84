#include "storage/entry_record.hpp"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

std::string value(const Fields& fields, std::string_view name) {
  for (const auto& [field, text] : fields) {
    if (field == name) return text;
  }
  return "(none)";
}

Entry sample() {
  Entry entry;
  entry.guid = "g";
  entry.title.value = "Title";
  entry.title.type = "text/plain";
  entry.link = "https://example.org/1";
  entry.summary = {"<p>short</p>", "text/html", "", "", true};
  entry.content = {{"plain", "text/plain", "", "", ""}, {"<p>long</p>", "text/html", "", "", ""}};
  entry.published.time = Time(std::chrono::seconds(100));
  entry.published.raw = "x";
  entry.authors = {{"A", "a@example.org", ""}};
  entry.categories = {{"news", "", ""}};
  entry.enclosures = {{"https://example.org/a.mp3", "audio/mpeg", "", 5, {}}};
  return entry;
}

TEST(EntryRecords, HoldTheDocumentedFields) {
  const EntryRecord record = entry_record(sample());
  EXPECT_EQ(record.guid, "g");
  EXPECT_EQ(record.timestamp, 100);
  EXPECT_EQ(value(record.fields, "title"), "Title");
  EXPECT_EQ(value(record.fields, "content"), "<p>long</p>");
  EXPECT_EQ(value(record.fields, "content_type"), "text/html");
  EXPECT_EQ(value(record.fields, "date_published"), "1970-01-01T00:01:40Z");
  EXPECT_EQ(value(record.fields, "authors"), R"([{"name":"A","email":"a@example.org"}])");
  EXPECT_EQ(value(record.fields, "categories"), R"([{"term":"news"}])");
  EXPECT_EQ(value(record.fields, "enclosures"),
            R"([{"url":"https://example.org/a.mp3","type":"audio/mpeg","length":5}])");
  EXPECT_EQ(value(record.fields, "language"), "(none)");
}

TEST(EntryRecords, TakeTheUpdatedDateFirst) {
  Entry entry = sample();
  entry.updated.time = Time(std::chrono::seconds(200));
  EXPECT_EQ(entry_record(entry).timestamp, 200);
}

TEST(EntryRecords, KeepTheFirstOfEqualGuids) {
  Feed feed;
  feed.entries = {sample(), sample()};
  feed.entries[1].title.value = "Second";
  const auto records = entry_records(feed);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(value(records[0].fields, "title"), "Title");
}

TEST(EntryRecords, CutLongValuesAtACharacterAndSaySo) {
  Entry entry = sample();
  entry.title.value = std::string(8 * 1024 - 1, 'a') + "\xC3\xA9";  // é across the cap
  entry.content[1].value = std::string(1024 * 1024 - 3, 'x') + "<b>y</b>";
  const Fields fields = entry_record(entry).fields;
  EXPECT_EQ(value(fields, "title"), std::string(8 * 1024 - 1, 'a'));
  EXPECT_EQ(value(fields, "content"), std::string(1024 * 1024 - 3, 'x') + "<b>");
  EXPECT_EQ(value(fields, "truncated"), "title content");
}

TEST(EntryRecords, DropUrlsOverTheirCap) {
  Entry entry = sample();
  entry.link = "https://example.org/" + std::string(3000, 'x');
  EXPECT_EQ(value(entry_record(entry).fields, "link"), "(none)");
}

TEST(Digests, ChangeOnlyWithWhatAReaderWouldNotice) {
  const std::string before = entry_record(sample()).digest;
  Entry later = sample();
  later.updated.time = Time(std::chrono::seconds(999));
  later.summary.value = "<p>short</p>\n  ";
  later.content[1].value = " <p>long</p>";
  EXPECT_EQ(entry_record(later).digest, before);
  Entry edited = sample();
  edited.content[1].value = "<p>longer</p>";
  EXPECT_NE(entry_record(edited).digest, before);
}

}  // namespace
}  // namespace feedmill
