#include "storage/records/diff.hpp"

#include <gtest/gtest.h>

#include "storage/records/entry_record.hpp"
#include "storage/records/event_record.hpp"
#include "storage/records/feed_fields.hpp"

namespace feedmill::diff_test {
namespace {

constexpr Milliseconds now(1'763'690'000'500);
constexpr std::int64_t now_s = 1'763'690'000;

EntryRecord post(std::string guid, std::optional<std::int64_t> timestamp, Fields fields = {{"title", "t"}}) {
  return {std::move(guid), "d", timestamp, std::move(fields)};
}

StoredSnapshot knows(std::vector<StoredSnapshot::Guid> guids) {
  StoredSnapshot known;
  known.guids = std::move(guids);
  return known;
}

std::string value(const Fields& fields, std::string_view name) {
  for (const auto& [field, text] : fields) {
    if (field == name) return text;
  }
  return "(none)";
}

TEST(Diff, CreatesUnknownPostsOldestFirst) {
  const auto diff = diff_entries({post("new", 200), post("old", 100)}, knows({{}, {}}), now);
  ASSERT_EQ(diff.writes.size(), 2U);
  EXPECT_EQ(diff.writes[0].guid, "old");
  EXPECT_EQ(diff.writes[1].guid, "new");
  EXPECT_EQ(diff.writes[1].timestamp, 200);
  EXPECT_EQ(value(diff.writes[1].set, "timestamp"), "200");
  EXPECT_EQ(value(diff.writes[1].set, "rev"), "1");
  EXPECT_EQ(value(diff.writes[1].set, "first_seen"), std::to_string(now_s));
}

TEST(Diff, GivesUndatedPostsTheirPlaceInTheDocument) {
  const auto diff = diff_entries({post("first", {}), post("second", {})}, knows({{}, {}}), now);
  EXPECT_EQ(diff.writes[0].guid, "second");
  EXPECT_EQ(diff.writes[0].timestamp, now_s - 1);
  EXPECT_EQ(diff.writes[1].timestamp, now_s);
}

TEST(Diff, ClampsFutureDatesToNow) {
  const auto diff = diff_entries({post("future", now_s + 1000)}, knows({{}}), now);
  EXPECT_EQ(diff.writes[0].timestamp, now_s);
}

TEST(Diff, TakesADateBefore1970ForNone) {
  const auto diff = diff_entries({post("old", -5), post("epoch", 0)}, knows({{}, {}}), now);
  EXPECT_EQ(diff.writes[0].timestamp, now_s - 1);
  EXPECT_EQ(diff.writes[1].timestamp, now_s);
}

TEST(Diff, WritesNothingForKnownAndTrimmedPosts) {
  const auto diff =
      diff_entries({post("a", 1), post("b", 2)},
                   knows({{StoredSnapshot::Is::same, "", {}}, {StoredSnapshot::Is::tombstoned, "", {}}}), now);
  EXPECT_TRUE(diff.writes.empty());
  EXPECT_EQ(diff.unchanged, 2U);
}

TEST(Diff, WritesOnlyTheFieldsThatChanged) {
  const Fields stored{{"title", "old"},     {"link", "l"},         {"comments", "c"}, {"timestamp", "50"},
                      {"rev", "4"},         {"guid", "g"},         {"feed_url", "u"}, {"digest", "x"},
                      {"first_seen", "40"}, {"last_changed", "45"}};
  const auto diff = diff_entries({post("g", 60, {{"author", "me"}, {"link", "l"}, {"title", "new"}})},
                                 knows({{StoredSnapshot::Is::different, "Entry:7", stored}}), now);
  ASSERT_EQ(diff.writes.size(), 1U);
  const EntryWrite& write = diff.writes[0];
  EXPECT_EQ(write.id, "Entry:7");
  EXPECT_EQ(write.rev, 5);
  EXPECT_EQ(write.timestamp, 60);
  EXPECT_EQ(write.set, (Fields{{"author", "me"},
                               {"title", "new"},
                               {"timestamp", "60"},
                               {"rev", "5"},
                               {"last_changed", std::to_string(now_s)}}));
  EXPECT_EQ(write.unset, std::vector<std::string>{"comments"});
  EXPECT_EQ(write.old, (Fields{{"title", "old"}, {"comments", "c"}, {"timestamp", "50"}}));
}

TEST(Diff, MissingOrFutureDateDoesNotMoveAChangedPost) {
  const Fields stored{{"title", "old"}, {"timestamp", "50"}, {"rev", "1"}};
  for (const std::optional<std::int64_t> date : {std::optional<std::int64_t>(), std::optional(now_s + 5)}) {
    const auto diff = diff_entries({post("g", date)}, knows({{StoredSnapshot::Is::different, "Entry:7", stored}}), now);
    EXPECT_EQ(diff.writes[0].timestamp, 50);
    EXPECT_EQ(value(diff.writes[0].set, "timestamp"), "(none)");
  }
}

StoredSnapshot::Guid different(const EntryRecord& as_stored, std::int64_t timestamp,
                               const std::string& stored_guid = "") {
  StoredSnapshot::Guid guid{StoredSnapshot::Is::different, "Entry:7", as_stored.fields, stored_guid};
  guid.fields.insert(guid.fields.end(), {{"timestamp", std::to_string(timestamp)}, {"rev", "3"}, {"digest", "older"}});
  return guid;
}

/// A post as read from a document.
EntryRecord read_post(Fields fields, std::optional<std::int64_t> timestamp = 50) {
  EntryRecord record = post("g", timestamp, std::move(fields));
  record.digest = entry_digest(record.fields);
  return record;
}

// RELIABILITY I11
TEST(Diff, NeverGoesBackToAnOlderVersion) {
  const auto at = [](const char* date, const char* title) {
    return read_post({{"date_updated", date}, {"title", title}});
  };
  struct Case {
    const char* name;
    const char *stored, *read;
    bool written;
    std::string changed = std::to_string(now.count() / 1000 - 3600);
    const char* rev = "3";
  };
  const Case cases[] = {{"older", "2025-11-02T00:00:00Z", "2025-11-01T00:00:00Z", false},
                        {"older, of a post that never changed", "2025-11-02T00:00:00Z", "2025-11-01T00:00:00Z", true,
                         std::to_string(now.count() / 1000), "1"},
                        {"older, a day later", "2025-11-02T00:00:00Z", "2025-11-01T00:00:00Z", true,
                         std::to_string(now.count() / 1000 - 86'400)},
                        {"older, two days later", "2025-11-02T00:00:00Z", "2025-11-01T00:00:00Z", true,
                         std::to_string(now.count() / 1000 - 172'800)},
                        {"equal", "2025-11-02T00:00:00Z", "2025-11-02T00:00:00Z", true},
                        {"newer", "2025-11-02T00:00:00Z", "2025-11-03T00:00:00Z", true},
                        {"a future date was put right", "2099-01-01T00:00:00Z", "2025-11-03T00:00:00Z", true}};
  for (const Case& test : cases) {
    StoredSnapshot::Guid guid = different(at(test.stored, "stored"), 50);
    for (auto& [name, value] : guid.fields) {
      if (name == "rev") value = test.rev;
    }
    guid.fields.emplace_back("last_changed", test.changed);
    const auto diff = diff_entries({at(test.read, "read")}, knows({guid}), now);
    EXPECT_EQ(diff.writes.size(), test.written ? 1U : 0U) << test.name;
    EXPECT_EQ(diff.unchanged, test.written ? 0U : 1U) << test.name;
    EXPECT_EQ(diff.has_stale, !test.written) << test.name;
  }
}

TEST(Diff, RemovesTheUpdatedDateThatADocumentHasStoppedToSay) {
  const Fields published{{"date_published", "1970-01-01T00:00:10Z"}, {"title", "old"}};
  Fields updated = published;
  updated.insert(updated.begin() + 1, {"date_updated", "1970-01-01T00:00:50Z"});
  for (const char* title : {"old", "new"}) {
    const bool is_news = std::string_view(title) == "new";
    Fields read = published;
    read.back().second = title;
    const auto diff = diff_entries({read_post(read, 10)}, knows({different(read_post(updated), 50)}), now);
    ASSERT_EQ(diff.writes.size(), 1U);
    const EntryWrite& write = diff.writes[0];
    EXPECT_EQ(write.unset, std::vector<std::string>{"date_updated"});
    EXPECT_EQ(write.bytes, entry_bytes(read));
    EXPECT_EQ(write.quiet, !is_news);
    EXPECT_EQ(write.timestamp, is_news ? 10 : 50) << "it moves only with news";
    EXPECT_EQ(value(write.set, "rev"), "4");
  }
}

TEST(Diff, WritesQuietlyWhatNoReaderNotices) {
  const EntryRecord same = read_post({{"content", "<p>a</p>"}, {"link", "http://h/a?utm_source=2"}});
  const auto diff = diff_entries(
      {same}, knows({different(read_post({{"content", "<p>a</p>"}, {"link", "http://h/a?utm_source=1"}}), 50)}), now);
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_TRUE(diff.writes[0].quiet);
  EXPECT_EQ(diff.writes[0].set, (Fields{{"link", "http://h/a?utm_source=2"}, {"rev", "4"}}));
  EXPECT_TRUE(diff.writes[0].unset.empty());
  EXPECT_EQ(diff.writes[0].digest, same.digest);
}

TEST(Diff, WritesTheWholeOfAPostThatWasCut) {
  const EntryRecord whole = read_post({{"date_published", "2026-03-01T10:00:00Z"}, {"title", "t"}}, 60);
  const EntryRecord half = read_post({{"title", "t"}, {"truncated", "entry"}}, {});
  StoredSnapshot::Guid stored = different(half, now_s);
  std::get<1>(stored.fields.back()) = std::string(cut_mark) + half.digest;
  auto diff = diff_entries({whole}, knows({stored}), now);
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_FALSE(diff.writes[0].quiet);
  EXPECT_EQ(diff.writes[0].timestamp, 60);
  EXPECT_EQ(value(diff.writes[0].set, "date_published"), "2026-03-01T10:00:00Z");
  EXPECT_EQ(diff.writes[0].unset, std::vector<std::string>{"truncated"});
  stored.stored_guid = "old";
  diff = diff_entries({whole}, knows({stored}), now);
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.writes.size(), 1U) << "under another guid, too";
}

TEST(Diff, RekeysPostsStoredUnderAnotherGuid) {
  const EntryRecord same = read_post({{"title", "t"}});
  const auto diff = diff_entries({same}, knows({{StoredSnapshot::Is::same, "Entry:7", {}, "old"}}), now);
  EXPECT_TRUE(diff.writes.empty());
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.rekeys[0].id, "Entry:7");
  EXPECT_EQ(diff.rekeys[0].from, "old");
  EXPECT_EQ(diff.rekeys[0].to, "g");
  EXPECT_EQ(diff.rekeys[0].digest, same.digest);
}

TEST(Diff, RekeysQuietlyWhenTheLinkIsWrittenAnotherWay) {
  const EntryRecord https = read_post({{"canonical_url", "https://h/a"}, {"link", "https://h/a"}, {"title", "t"}});
  const EntryRecord http = read_post({{"canonical_url", "http://h/a"}, {"link", "http://h/a"}, {"title", "t"}});
  const auto diff = diff_entries({https}, knows({different(http, 50, "old")}), now);
  EXPECT_TRUE(diff.writes.empty());
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.rekeys[0].digest, https.digest);
  EXPECT_EQ(diff.rekeys[0].set, (Fields{{"canonical_url", "https://h/a"}, {"link", "https://h/a"}}));
}

TEST(Diff, RekeysWithTheCanonicalUrlThatTheNewLinkNoLongerSays) {
  const EntryRecord before = read_post({{"link", "https://h/a"}, {"title", "t"}});
  const EntryRecord after =
      read_post({{"canonical_url", "https://h/a"}, {"link", "https://h/a#utm_source=rss"}, {"title", "t"}});
  const auto diff = diff_entries({after}, knows({different(before, 50, "old")}), now);
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.rekeys[0].set, (Fields{{"canonical_url", "https://h/a"}, {"link", "https://h/a#utm_source=rss"}}));
}

TEST(Diff, RekeysAndModifiesPostsThatChangedToo) {
  const auto diff =
      diff_entries({read_post({{"title", "new"}})}, knows({different(read_post({{"title", "old"}}), 50, "old")}), now);
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.rekeys[0].digest, "older") << "until the modification is written";
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_EQ(diff.writes[0].guid, "g");
  EXPECT_EQ(value(diff.writes[0].set, "title"), "new");
}

TEST(Diff, RekeysAndRemovesWhatAPostNoLongerHas) {
  const EntryRecord before = read_post({{"date_updated", "2025-01-01T00:00:00Z"},
                                        {"link", "https://h/a"},
                                        {"summary_text", "text"},
                                        {"title", "t"},
                                        {"truncated", "texts"}});
  const EntryRecord after = read_post({{"link", "https://h/a"}, {"title", "t"}});
  const auto diff = diff_entries({after}, knows({different(before, 50, "old")}), now);
  ASSERT_EQ(diff.rekeys.size(), 1U);
  EXPECT_EQ(diff.rekeys[0].digest, "older") << "until the removal is written";
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_TRUE(diff.writes[0].quiet);
  EXPECT_EQ(diff.writes[0].digest, after.digest);
  EXPECT_EQ(diff.writes[0].unset, (std::vector<std::string>{"date_updated", "summary_text", "truncated"}));
}

TEST(Diff, DropsWhatOtherFieldsSayWithTheNextChange) {
  const Fields by_an_earlier_build{{"author", "A"},
                                   {"authors", R"([{"name":"A"}])"},
                                   {"canonical_url", "https://h/a"},
                                   {"link", "https://h/a"},
                                   {"title", "t"}};
  Fields fields = by_an_earlier_build;
  drop_implied(fields);
  const EntryRecord stored = read_post(by_an_earlier_build), same = read_post(fields);
  EXPECT_EQ(stored.digest, same.digest);
  StoredSnapshot known = knows({different(stored, 50)});
  std::ranges::find(known.guids[0].fields, "digest", &Fields::value_type::first)->second = stored.digest;
  EXPECT_TRUE(diff_entries({same}, known, now).writes.empty()) << "no write for its own sake";

  std::ranges::find(fields, "title", &Fields::value_type::first)->second = "new";
  const auto diff = diff_entries({read_post(fields)}, known, now);
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_EQ(diff.writes[0].unset, (std::vector<std::string>{"authors", "canonical_url"}));
  EXPECT_EQ(diff.writes[0].old, (Fields{{"title", "t"}})) << "no news";

  std::ranges::find(fields, "author", &Fields::value_type::first)->second = "B";
  const auto by_another = diff_entries({read_post(fields)}, known, now);
  ASSERT_EQ(by_another.writes.size(), 1U);
  EXPECT_EQ(by_another.writes[0].old, (Fields{{"author", "A"}, {"title", "t"}})) << "author alone says so";
}

TEST(Signals, TellNothingThatFollowsFromOtherFields) {
  EntryWrite write;
  write.id = "Entry:1";
  write.set = {{"canonical_url", "b"}, {"rev", "2"}, {"summary_text", "d"}, {"title", "new"}};
  write.old = {{"canonical_url", "a"}, {"summary_text", "c"}, {"title", "old"}, {"truncated", "title"}};
  const std::string signal = post_event({}, write, now_s);
  EXPECT_NE(signal.find(R"("changed":{"title":["old","new"]})"), std::string::npos) << signal;
}

TEST(Diff, RepairsPostsStoredByOlderRulesAsAnotherRevision) {
  EntryRecord read = post("g", 50, {{"content", "<p>x</p>"}, {"content_type", "text/html"}, {"san_ver", "3"}});
  read.digest = entry_digest(read.fields);
  StoredSnapshot::Guid same{
      StoredSnapshot::Is::same, "Entry:7", {{"content", "<p>x</p>"}, {"rev", "3"}, {"timestamp", "50"}}, ""};
  same.fields.emplace_back("digest", read.digest);
  same.mended = {{"content_type", "text/html"}, {"summary", ""}};
  StoredSnapshot::Guid different = same;
  different.is = StoredSnapshot::Is::different;
  std::erase_if(different.fields, [](const auto& field) { return field.first == "digest"; });
  different.fields.emplace_back("digest", "of what was not sanitised");
  for (StoredSnapshot::Guid* const known : {&same, &different}) known->fields.emplace_back("san_ver", "3");
  for (const StoredSnapshot::Guid& known : {same, different}) {
    const auto diff = diff_entries({read}, knows({known}), now);
    ASSERT_EQ(diff.writes.size(), 1U);
    const EntryWrite& write = diff.writes[0];
    EXPECT_TRUE(write.quiet);
    EXPECT_EQ(write.id, "Entry:7");
    EXPECT_EQ(write.rev, 4);
    EXPECT_EQ(write.timestamp, 50);
    EXPECT_EQ(write.digest, read.digest);
    EXPECT_EQ(write.set, (Fields{{"content_type", "text/html"}, {"rev", "4"}}));
    EXPECT_EQ(write.unset, std::vector<std::string>{"summary"});
  }
  EntryRecord changed = read;
  changed.fields[0].second = "<p>y</p>";
  changed.digest = entry_digest(changed.fields);
  const auto diff = diff_entries({changed}, knows({different}), now);
  ASSERT_EQ(diff.writes.size(), 1U);
  EXPECT_FALSE(diff.writes[0].quiet);
  EXPECT_NE(find_field(diff.writes[0].set, "content_type"), nullptr);
  EXPECT_EQ(diff.writes[0].unset, std::vector<std::string>{"summary"});
}

}  // namespace
}  // namespace feedmill::diff_test
