#include "storage/records/entry_record.hpp"

#include <gtest/gtest.h>

#include "parsers/feed/read_feed.hpp"
#include "storage/records/post_change.hpp"

namespace feedmill::entry_record_test {
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
  entry.title.type = TextType("text/plain");
  entry.link = "https://example.org/1";
  entry.summary = {"<p>short</p>", TextType("text/html"), "", "", true};
  entry.content = {{"plain", TextType(), "", "", "", ""}, {"<p>long</p>", TextType("html"), "", "", "", ""}};
  entry.published.time = Time(std::chrono::seconds(100));
  entry.published.raw = "x";
  entry.authors = std::vector<Person>{{"A", "a@example.org", "", ""}};
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
  EXPECT_EQ(value(record.fields, "summary_type"), "text/html");
  EXPECT_EQ(value(record.fields, "summary_text"), "short");
  EXPECT_EQ(value(record.fields, "canonical_url"), "(none)") << "the link is it";
  EXPECT_EQ(value(record.fields, "truncated"), "(none)");
}

// WEBSUB U17
TEST(EntryRecords, HoldTheTrailAndNoReaderNoticesIt) {
  Entry entry = sample();
  const Fields before = entry_record(Entry(entry)).fields;
  entry.via = {std::string(32, 'a'), std::string(32, 'b')};
  const EntryRecord record = entry_record(std::move(entry));
  EXPECT_EQ(value(record.fields, "via"), std::string(32, 'a') + " " + std::string(32, 'b'));
  EXPECT_FALSE(change_between(before, record.fields).noticed);
}

TEST(EntryRecords, HoldAnExcerptAsPlainText) {
  Entry entry = sample();
  entry.summary = {};
  entry.content = {
      {"<p>Fish &amp; <b>chips</b></p><p>" + std::string(1000, 'x') + "</p>", TextType("html"), "", "", "", ""}};
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "summary_text"), "Fish & chips " + std::string(300 - 13, 'x'));
  entry.content = {{"a <b>\n c", TextType(), "", "", "", ""}};
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "summary_text"), "a <b> c");
  entry.content.clear();
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "summary_text"), "(none)");
}

TEST(EntryRecords, HoldTheLinkWithoutTracking) {
  Entry entry = sample();
  entry.link = "https://example.org/1?utm_source=feed&id=7#top";
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "canonical_url"), "https://example.org/1?id=7");
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "link"), entry.link);
  entry.links = {{"https://original.example/1", "canonical", "", "", "", {}}};
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "canonical_url"), "https://original.example/1");
  entry.links.clear();
  entry.link = "tag:example.org,2020:1";
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "canonical_url"), "(none)");
}

TEST(EntryRecords, HoldPodcastsMediaAndPlaces) {
  Entry entry = sample();
  entry.itunes.emplace().episode = 7;
  entry.itunes->keywords = {"a", "b"};
  entry.geo = Geo{"Point", "[1,2]", "", {}, {Geo{"Box", "[[1,2],[3,4]]", "", {}, {}}}};
  entry.chapters_version = "1.2";
  entry.chapters = {{5, "5", "Intro", "", ""}};
  entry.extensions = {{"podcast", "transcript", "", {{"url", "https://example.org/t.vtt"}}, {}},
                      {"itunes", "episode", "seven", {}, {}},
                      {"itunes", "foo", "bar", {}, {}}};
  entry.media.emplace().content = {{{"url", "https://example.org/v.mp4"}, {"width", "640"}}};
  const Fields fields = entry_record(Entry(entry)).fields;
  EXPECT_EQ(
      value(fields, "extensions"),
      R"({"geo":{"type":"Point","coordinates":[1,2],"more":[{"type":"Box","coordinates":[[1,2],[3,4]]}]},)"
      R"("itunes":{"keywords":["a","b"],"episode":7,"foo":[{"value":"bar"}],"other":{"episode":[{"value":"seven"}]}},)"
      R"("podcast":{"transcript":[{"value":"","attrs":{"url":"https://example.org/t.vtt"}}]},)"
      R"("psc":{"version":"1.2","chapters":[{"start":5,"start_raw":"5","title":"Intro"}]}})");
  EXPECT_EQ(value(fields, "media"), R"({"content":[{"url":"https://example.org/v.mp4","width":640}]})");
}

TEST(EntryRecords, LeaveOutTheLongestExtensionsOverTheCap) {
  Entry entry = sample();
  entry.extensions = {{"huge", "x", std::string(300'000, 'x'), {}, {}}, {"podcast", "season", "1", {}, {}}};
  const Fields fields = entry_record(Entry(entry)).fields;
  EXPECT_EQ(value(fields, "extensions"), R"({"podcast":{"season":[{"value":"1"}]}})");
  EXPECT_EQ(value(fields, "truncated"), "extensions");
}

TEST(EntryRecords, StayBelowTwoMebibytes) {
  Entry entry = sample();
  entry.content = {{std::string(1 << 20, 'c'), TextType(), "", "", "", ""}};
  entry.summary.value = std::string(64 << 10, 's');
  const std::string big(240 << 10, 'x');
  entry.extensions = {{"z", "x", big, {}, {}}};
  entry.media.emplace().description = big;
  entry.categories = {{big, "", ""}};
  entry.authors = std::vector<Person>{{big, "", "", ""}};
  const Fields fields = entry_record(Entry(entry)).fields;
  std::size_t total = 0;
  for (const auto& [name, text] : fields) total += name.size() + text.size();
  EXPECT_LE(total, std::size_t{2} << 20);
  entry.truncated = "title extensions";
  EXPECT_EQ(value(entry_record(Entry(entry)).fields, "truncated"), "title extensions");
  EXPECT_EQ(value(fields, "content").size(), std::size_t{1} << 20);
  EXPECT_EQ(value(fields, "extensions"), "(none)");
  EXPECT_EQ(value(fields, "truncated"), "extensions");
}

// Readers render fields of an HTML type as HTML and escape all others.
TEST(EntryRecords, SayWhetherASummaryIsMarkup) {
  const auto feed = read_feed(
      "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><summary>&lt;script></summary></entry>"
      "<entry><id>2</id><summary type='html'>&lt;script>x&lt;/script>y</summary></entry></feed>",
      {});
  const Fields plain = entry_record(Entry(feed.value().entries.at(0))).fields;
  EXPECT_EQ(value(plain, "summary"), "<script>");
  EXPECT_EQ(value(plain, "summary_type"), "(none)");
  const Fields markup = entry_record(Entry(feed.value().entries.at(1))).fields;
  EXPECT_EQ(value(markup, "summary"), "y");
  EXPECT_EQ(value(markup, "summary_type"), "text/html");
}

TEST(EntryRecords, TakeTheUpdatedDateFirst) {
  Entry entry = sample();
  entry.updated.time = Time(std::chrono::seconds(200));
  EXPECT_EQ(entry_record(Entry(entry)).timestamp, 200);
}

TEST(EntryRecords, HaveNoDateBefore1900AndNoTimestampBefore1970) {
  Entry entry = sample();
  entry.published = {parse_date("Sun, 20 Jul 1969 20:17:40 GMT"), "x"};
  entry.updated = {parse_date("0199-07-20T20:17:40Z"), "x"};
  const EntryRecord record = entry_record(std::move(entry));
  EXPECT_EQ(value(record.fields, "date_published"), "1969-07-20T20:17:40Z");
  EXPECT_EQ(value(record.fields, "date_updated"), "(none)");
  EXPECT_FALSE(record.timestamp.has_value());
}

TEST(EntryRecords, LeaveItToTheStoreWhichOfEqualGuidsAndLinksStays) {
  Feed feed;
  feed.entries = {sample(), sample()};
  for (Entry& entry : feed.entries) entry.id = entry.guid;
  feed.entries[1].title.value = "Second";
  const auto records = entry_records(feed, IdentifiedBy::guid, IdentifiedBy::guid);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].guid, records[1].guid);
  EXPECT_EQ(value(records[0].fields, "title"), "Title");
  EXPECT_EQ(value(records[1].fields, "title"), "Second");
}

TEST(EntryRecords, ShowTheFieldsThatTheReaderCut) {
  auto feed =
      read_feed("<rss version='2.0'><channel><item><title>" + std::string(9000, 'x') +
                    "</title><link>http://a.example/" + std::string(3000, 'y') + "</link></item></channel></rss>",
                {});
  const Fields fields = entry_record(Entry(feed.value().entries.at(0))).fields;
  EXPECT_EQ(value(fields, "truncated"), "title link");
  EXPECT_EQ(value(fields, "title"), std::string(8192, 'x'));
  EXPECT_EQ(value(fields, "link"), "(none)");
}

TEST(Digests, ChangeWithEveryValueButCountersAndTracking) {
  const Fields fields{
      {"content", "<p>a</p><img src=\"https://t.example/1\" width=\"1\" height=\"1\"/>"},
      {"enclosures", R"([{"url":"https://e.org/1.mp3?id=1&utm_source=a","length":5}])"},
      {"extensions", R"({"slash":{"comments":[{"value":"1"}]},"x":{"y":[{"value":"1"}]}})"},
      {"link", "https://e.org/1?utm_campaign=1"},
      {"media", R"({"thumbnails":[{"url":"https://e.org/1.png"}],"community":{"statistics_views":1}})"}};
  bool has_idle = false;
  const std::string before = entry_digest(fields, &has_idle);
  EXPECT_TRUE(has_idle);
  EXPECT_EQ(before.size(), 12U);
  EXPECT_FALSE(is_reader_digest(before));
  const auto with = [&](std::size_t place, const std::string& from, const std::string& to) {
    Fields changed = fields;
    std::string& value = changed[place].second;
    value.replace(value.find(from), from.size(), to);
    return entry_digest(changed);
  };
  EXPECT_EQ(with(0, "t.example/1", "t.example/2"), before);
  EXPECT_EQ(with(1, "utm_source=a", "utm_source=b"), before);
  EXPECT_EQ(with(2, R"([{"value":"1"}]},"x")", R"([{"value":"2"}]},"x")"), before);
  EXPECT_EQ(with(3, "campaign=1", "campaign=2"), before);
  EXPECT_EQ(with(4, "views\":1", "views\":2"), before);
  EXPECT_NE(with(0, "<p>a", "<p>b"), before);
  EXPECT_NE(with(1, "id=1", "id=2"), before);
  EXPECT_NE(with(2, R"({"y":[{"value":"1")", R"({"y":[{"value":"2")"), before);
  EXPECT_NE(with(3, "org/1", "org/2"), before);
  EXPECT_NE(with(4, "1.png", "2.png"), before);
  Fields shuffled(fields.rbegin(), fields.rend());
  EXPECT_EQ(entry_digest(shuffled), before) << "Redis keeps no order";
  has_idle = false;
  entry_digest({{"title", "t"}, {"extensions", R"({"x":{"y":[]}})"}}, &has_idle);
  EXPECT_FALSE(has_idle);
}

TEST(Digests, LeaveOutOnlyWhatCounts) {
  const auto digest = [](const std::string& vocabularies) {
    return entry_digest({{"extensions", "{" + vocabularies + "}"}});
  };
  const auto comment = [&](const std::string& text) {
    return digest(R"("media":{"comments":[{"value":"","children":{"comment":[{"value":")" + text + R"("}]}}]})");
  };
  EXPECT_NE(comment("One"), comment("Two"));
  EXPECT_NE(comment("\u00fc"), comment("\u00f6"));
  EXPECT_EQ(comment("1"), comment("2"));
  const auto attributes = [&](const std::string& cover, const std::string& seeders) {
    return digest(R"("torznab":{"attr":[{"value":"","attrs":{"name":"coverurl","value":")" + cover +
                  R"("}},{"value":"","attrs":{"name":"seeders","value":")" + seeders + R"("}}]})");
  };
  EXPECT_NE(attributes("a", "1"), attributes("b", "1"));
  EXPECT_EQ(attributes("a", "1"), attributes("a", "2"));
  EXPECT_EQ(digest(R"("media":{"community":[{"value":"","children":{"tags":[{"value":"a"}]}}]})"),
            digest(R"("media":{"community":[{"value":"","children":{"tags":[{"value":"b"}]}}]})"));
}

TEST(EntryRecords, LeaveOutWhatOtherFieldsSay) {
  Entry entry = sample();
  entry.authors = std::vector<Person>{{"A \"B\"", "", "", ""}};
  entry.author = std::string("A \"B\"");
  const EntryRecord record = entry_record(std::move(entry));
  EXPECT_EQ(value(record.fields, "author"), "A \"B\"");
  EXPECT_EQ(value(record.fields, "authors"), "(none)");
  const Fields whole = with_implied(record.fields);
  EXPECT_EQ(value(whole, "authors"), R"([{"name":"A \"B\""}])");
  EXPECT_EQ(value(whole, "canonical_url"), "https://example.org/1");
  EXPECT_TRUE(std::ranges::is_sorted(whole));
  EXPECT_EQ(entry_digest(whole), record.digest) << "stored by an earlier build: no news";
  Fields again = whole;
  drop_implied(again);
  EXPECT_EQ(again, record.fields);
}

TEST(EntryRecords, KeepWhatOtherFieldsDoNotSay) {
  for (const auto& [name, text] : {std::pair("authors", R"([{"name":"A","uri":"https://a.example/"}])"),
                                   std::pair("authors", R"([{"name":"A"},{"name":"B"}])"),
                                   std::pair("canonical_url", "https://example.org/else")}) {
    Fields fields{{"author", "A"}, {"link", "https://example.org/1"}, {name, text}};
    std::ranges::sort(fields);
    drop_implied(fields);
    EXPECT_EQ(value(fields, name), text);
    EXPECT_EQ(value(with_implied(fields), name), text);
  }
  EXPECT_EQ(implied_value({{"author", "A"}, {"truncated", "authors links"}}, "authors"), "") << "they were too long";
  EXPECT_EQ(implied_value({{"link", "tag:example.org,2020:1"}}, "canonical_url"), "");
  EXPECT_EQ(implied_value({{"author", "A"}}, "title"), "");
}

TEST(Digests, TakeNoNoticeOfWhatFollowsFromOtherFields) {
  Fields fields = entry_record(sample()).fields;
  const std::string before = entry_digest(fields), earlier = reader_digest(fields);
  std::erase_if(fields, [](const auto& f) { return f.first == "summary_text" || f.first == "canonical_url"; });
  EXPECT_EQ(entry_digest(fields), before);
  EXPECT_EQ(reader_digest(fields), earlier);
}

}  // namespace
}  // namespace feedmill::entry_record_test
