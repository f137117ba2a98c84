// Posts that reappear under new guids: how they are matched, and how the store updates them (DESIGN §5, RELIABILITY I2,
// I3, I15).
#include <algorithm>
#include <set>

#include "storage/entries/entries.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/post_identity.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::rekey_test {
namespace {

constexpr const char* long_text = "A text that is long enough to be told from the texts of other posts: ";

Fields fields_of(const std::string& link, const std::string& title, const std::string& date = "",
                 const std::string& text = "") {
  Fields fields;
  if (!date.empty()) fields.emplace_back("date_published", date);
  if (!link.empty()) fields.emplace_back("link", link);
  if (!text.empty()) fields.emplace_back("summary_text", text);
  fields.emplace_back("title", title);
  return fields;
}

EntryRecord listed(const std::string& guid, Fields fields) {
  return {guid, "digest", {}, std::move(fields)};
}

StoredPost stored(const std::string& guid, Fields fields) {
  return {"Entry:" + guid, guid, "digest", 100, std::move(fields)};
}

std::vector<Match> match_all(const std::vector<EntryRecord>& read, const std::vector<StoredPost>& posts) {
  return match_posts(read, std::vector<bool>(read.size(), true), posts);
}

struct PairCase {
  const char* name;
  Fields read, stored;
  int matches;  // 0: no match, 1: by link, 2: by text
  bool sure = false;
};
void PrintTo(const PairCase& test, std::ostream* out) {
  *out << test.name;
}

class Pairs : public testing::TestWithParam<PairCase> {};
TEST_P(Pairs, AreMatchedBySharedParts) {
  const PairCase& test = GetParam();
  const auto matches = match_all({listed("new", test.read)}, {stored("old", test.stored)});
  ASSERT_EQ(matches.size(), test.matches == 0 ? 0U : 1U);
  if (matches.empty()) return;
  EXPECT_EQ(matches[0].by, test.matches == 1 ? Match::By::link : Match::By::text);
  EXPECT_EQ(matches[0].sure, test.sure);
}

const std::string day = "2026-03-01T12:00:00Z", next_day = "2026-03-02T12:00:00Z";
INSTANTIATE_TEST_SUITE_P(
    All, Pairs,
    testing::Values(
        PairCase{"HttpToHttps", fields_of("https://e.org/a", "t"), fields_of("http://e.org/a", "t"), 1, true},
        PairCase{"WwwAndTracking", fields_of("https://e.org/a", "t"),
                 fields_of("https://www.e.org/a/?utm_source=x", "t"), 1, true},
        PairCase{"EditedTitle", fields_of("https://e.org/a", "new"), fields_of("https://e.org/a", "old"), 1, false},
        PairCase{"EditedTitleSameDate", fields_of("https://e.org/a", "new", day),
                 fields_of("https://e.org/a", "old", day), 1, true},
        PairCase{"PageThatIsWrittenAnew", fields_of("https://e.org/weather", "Weather", next_day),
                 fields_of("https://e.org/weather", "Weather", day), 1, false},
        PairCase{"HomePage", fields_of("https://e.org/", "t", day), fields_of("https://e.org/", "u", day), 0},
        PairCase{"OtherPage", fields_of("https://e.org/b", "t"), fields_of("https://e.org/a", "t"), 0},
        PairCase{"MovedDomain", fields_of("https://new.org/x/a", "t", day, "text"),
                 fields_of("http://old.org/?p=1", "t", day, "text"), 2, true},
        PairCase{"UndatedText", fields_of("", "t", "", long_text), fields_of("", "t", "", long_text), 2, true},
        PairCase{"TitlesOnly", fields_of("", "Untitled"), fields_of("", "Untitled"), 0},
        PairCase{"SameTextAnotherDay", fields_of("https://e.org/2", "Backup done", next_day, long_text),
                 fields_of("https://e.org/1", "Backup done", day, long_text), 0}),
    [](const auto& test) { return test.param.name; });

TEST(Matching, OmitsAmbiguousPairs) {
  const Fields page = fields_of("https://e.org/a", "t");
  EXPECT_TRUE(match_all({listed("1", page), listed("2", page)}, {stored("old", page)}).empty());
  const Fields same_page = fields_of("https://e.org/a", "u");
  EXPECT_TRUE(match_all({listed("1", page)}, {stored("a", page), stored("b", same_page)}).empty());
  EXPECT_EQ(match_all({listed("1", page)}, {stored("a", page), stored("b", page)}).size(), 1U)
      << "one post, stored twice";
}

TEST(Matching, LeavesAloneWhatTheDocumentListsItself) {
  const Fields page = fields_of("https://e.org/a", "t");
  const Fields other = fields_of("https://e.org/b", "t");
  EXPECT_TRUE(match_posts({listed("new", page), listed("old", other)}, {true, false}, {stored("old", page)}).empty());
}

TEST(Matching, TakesTheFormerGuidFirst) {
  EntryRecord renamed = listed("link:e.org/a", fields_of("https://e.org/a", "t"));
  renamed.former_guid = "g1";
  const auto matches = match_all({renamed}, {stored("g2", fields_of("https://e.org/a", "t")), stored("g1", {})});
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].stored, 1U);
  EXPECT_EQ(matches[0].by, Match::By::guid);
}

TEST(Matching, BelievesLinksWhereManyPostsHadOneGuid) {
  EntryRecord second = listed("link:e.org/2", fields_of("https://e.org/2", "Second"));
  second.former_guid = "shared";
  EntryRecord first = listed("link:e.org/1", fields_of("https://e.org/1", "First"));
  first.former_guid = "shared https://e.org/1";
  const auto matches = match_all({second, first}, {stored("shared", fields_of("https://e.org/1", "First"))});
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].read, 1U);
  EXPECT_EQ(matches[0].by, Match::By::link);
}

class Rekeying : public StoreTest {
 protected:
  std::string guid_of(const std::string& id) { return redis({"HGET", id, "guid"}); }
  std::string mapped(const std::string& guid) { return redis({"HGET", feed_url + ":guidmap", guid}); }

  /// Checks that map, entries, order and digests agree (RELIABILITY I2, I3, I4).
  void expect_whole() {
    const auto entries = Entries(store).all_by_order(feed_url, 100'000);
    ASSERT_TRUE(entries);
    for (const StoredEntry& entry : *entries) {
      EXPECT_EQ(mapped(entry.get("guid")), entry.id);
      EXPECT_EQ(digests()[entry.id], packed_mark(entry.get("digest")));
    }
    EXPECT_EQ(redis({"HLEN", feed_url + ":guidmap"}), std::to_string(entries->size()));
    EXPECT_EQ(digests().size(), entries->size());
  }

  /// A commit that only changes guids.
  Commit renaming(const std::vector<Rekey>& rekeys) {
    Commit commit = plan(claim_one(), {});
    commit.rekeys = rekeys;
    commit.rekeyed = {"feed_rekeyed", "updated", R"({"count":1})", ""};
    return commit;
  }
};

TEST_F(Rekeying, KeepsNumbersAndEverythingThatPointsToThem) {
  add();
  refresh({post("b", 200), post("a", 100)});
  const Committed done = send(renaming(
      {{"Entry:1", "a", "A", "digest A", {{"link", "https://example.org/A"}}}, {"Entry:2", "b", "B", "b", {}}}));
  EXPECT_EQ(done.rekeyed, 2U);
  EXPECT_EQ(done.created + done.modified + done.trimmed, 0U);
  EXPECT_EQ(guid_of("Entry:1"), "A");
  EXPECT_EQ(mapped("A"), "Entry:1");
  EXPECT_EQ(mapped("a"), "(nil)");
  EXPECT_EQ(redis({"HMGET", "Entry:1", "link", "digest", "rev"}), "https://example.org/A digest A 1");
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":sort", "Entry:1"}), "100");
  expect_whole();
  ASSERT_EQ(signals("feed_rekeyed").size(), 1U);
  EXPECT_EQ(signals("post_created").size(), 2U) << "those of the import";
  EXPECT_TRUE(signals("post_modified").empty());
}

TEST_F(Rekeying, TellsEveryPostInPartsThatAreBounded) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 40; i > 0; --i) posts.push_back(post("p" + std::to_string(i), i));
  refresh(posts);
  std::vector<Rekey> rekeys;
  for (const StoredEntry& entry : *Entries(store).all_by_order(feed_url, 100)) {
    const std::string& guid = entry.get("guid");
    rekeys.push_back(
        {entry.id, guid, std::string(4000, 'n') + "\"" + guid, entry.get("digest"), {{"link", "https://l/" + guid}}});
  }
  redis({"HSET", "Entry:3", "rev", "7"});
  send(renaming(rekeys));
  const auto told = signals("feed_rekeyed");
  ASSERT_EQ(told.size(), 3U) << "16 posts of 4 KiB in 64 KiB";
  std::set<std::string> ids;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const auto& data = told[i].at("data").as_object();
    EXPECT_EQ(data.at("part").as_int64(), static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(data.at("parts").as_int64(), 3);
    EXPECT_EQ(data.at("count").as_int64(), 1) << "as whoever decided it says";
    EXPECT_LE(boost::json::serialize(data).size(), 66'000U);
    for (const auto& one : data.at("posts").as_array()) {
      const std::string id(one.at("id").as_string());
      EXPECT_TRUE(ids.insert(id).second);
      EXPECT_EQ(guid_of(id), std::string(one.at("to").as_string()));
      EXPECT_EQ(one.at("rev").as_int64(), id == "Entry:3" ? 7 : 1);
      EXPECT_EQ(redis({"HGET", id, "link"}), std::string(one.at("set").at("link").as_string()));
    }
  }
  EXPECT_EQ(ids.size(), 40U);
  expect_whole();
}

TEST_F(Rekeying, TouchesNothingThatIsNotAsItWas) {
  add();
  refresh({post("b", 200), post("a", 100)});
  const Committed done = send(renaming({{"Entry:2", "a", "A", "x", {}},        // the guid of another post
                                        {"Entry:1", "a", "b", "x", {}},        // a guid that is in use
                                        {"Entry:9", "gone", "C", "x", {}}}));  // a post that does not exist
  EXPECT_EQ(done.rekeyed, 0U);
  EXPECT_TRUE(signals("feed_rekeyed").empty());
  EXPECT_EQ(redis({"EXISTS", "Entry:9"}), "0");
  expect_whole();
}

TEST_F(Rekeying, ComesWholeInTheFirstOfManyParts) {
  add();
  refresh({post("a", 1)});
  std::vector<EntryRecord> posts;
  for (int i = 250; i > 0; --i) posts.push_back(post("n" + std::to_string(i), 1000 + i));
  Commit commit = plan(claim_one(), posts, {.entries = 500});
  commit.rekeys = {{"Entry:1", "a", "A", "t", {}}};
  commit.rekeyed = {"feed_rekeyed", "updated", R"({"count":1})", ""};
  commit.tombs_new = {"buried"};
  const Committed done = send(commit);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(done.created, 250U);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "buried"}), "inf");
  const auto all = signals();
  ASSERT_EQ(all.size(), 252U);
  EXPECT_EQ(all[1].at("type").as_string(), "feed_rekeyed") << "before anything else of it";
  expect_whole();
}

TEST_F(Rekeying, WritesAChangedPostUnderItsNewGuid) {
  add();
  refresh({post("a", 100, "old")});
  const Claim claimed = claim_one();
  const std::vector<EntryRecord> posts{post("A", 100, "new")};
  Commit commit = plan(claimed, posts);
  StoredSnapshot known;
  known.guids = {{StoredSnapshot::Is::different, "Entry:1", Entries(store).get("Entry:1")->value().fields, "a"}};
  EntryDiff diff = diff_entries(std::vector(posts), known, claimed.now);
  commit.entries = diff.writes;
  commit.rekeys = diff.rekeys;
  commit.rekeyed = {"feed_rekeyed", "updated", R"({"count":1})", ""};
  const Committed done = send(commit);
  EXPECT_EQ(done.rekeyed, 1U);
  EXPECT_EQ(done.modified, 1U);
  EXPECT_EQ(redis({"HMGET", "Entry:1", "guid", "title", "rev"}), "A new 2");
  EXPECT_EQ(signals("post_modified").at(0).at("guid").as_string(), "A");
  expect_whole();
}

TEST_F(Rekeying, SendsAndWritesNothingNewWhenTheReplyWasLost) {
  add();
  refresh({post("a", 100)});
  const Commit commit = renaming({{"Entry:1", "a", "A", "t", {}}});
  EXPECT_EQ(send(commit).rekeyed, 1U);
  EXPECT_EQ(send(commit).result, Committed::Result::dup);
  EXPECT_EQ(signals("feed_rekeyed").size(), 1U);
}

TEST_F(Rekeying, GetsAllRecognisablePosts) {
  add();
  EntryRecord dated = post("b", 200);
  dated.fields = {{"date_published", "2026-03-01T12:00:00Z"}, {"link", "l"}, {"summary_text", "s"}, {"title", "t"}};
  refresh({dated, post("a", 100)});
  const auto posts = Ingest(store).stored_posts(feed_url);
  ASSERT_TRUE(posts);
  ASSERT_EQ(posts->size(), 2U);
  EXPECT_EQ((*posts)[0].id, "Entry:2");
  EXPECT_EQ((*posts)[0].guid, "b");
  EXPECT_EQ((*posts)[0].digest, "t");
  EXPECT_EQ((*posts)[0].timestamp, 200);
  EXPECT_EQ((*posts)[0].fields, dated.fields);
  EXPECT_EQ((*posts)[1].fields, (Fields{{"link", "https://example.org/a"}, {"title", "t"}}));
  EXPECT_TRUE(Ingest(store).stored_posts("https://nowhere.example/")->empty());
}

TEST_F(Rekeying, LooksUpFormerGuids) {
  add();
  refresh({post("a", 100)});
  std::vector<EntryRecord> posts{post("link:example.org/a", 100)};
  posts[0].former_guid = "a";
  const LookUp wanted{feed_url, posts};
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->guids[0].is, StoredSnapshot::Is::same);
  EXPECT_EQ(known->stored, 1U);
  EXPECT_EQ(known->newest, 100);
  EXPECT_FALSE(known->trimmed);
}

TEST_F(Rekeying, LooksForOtherSpellingsOfUnknownGuids) {
  add();
  refresh({post("http://example.org/a%2fb/", 100), post("http://example.org/listed", 100), post("urn:a", 100),
           post("http://example.org/twice", 100), post("https://example.org/twice", 100)});
  redis({"ZADD", feed_url + ":tombs", "inf", "http://www.example.org/trimmed", "inf", "https://example.org/"});
  const std::vector<EntryRecord> posts{post("https://example.org/a%2Fb?utm_source=x", 100),
                                       post("http://example.org/listed", 100),
                                       post("https://example.org/listed", 100),
                                       post("URN:A", 100),
                                       post("https://example.org/trimmed", 100),
                                       post("http://example.org/twice/", 100),
                                       post("http://example.org/", 100)};
  const LookUp wanted{feed_url, posts};
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  std::vector<std::string> aliases;
  for (const StoredSnapshot::Guid& guid : known->guids) aliases.push_back(guid.alias);
  EXPECT_EQ(aliases, (std::vector<std::string>{"http://example.org/a%2fb/", "", "", "",
                                               "http://www.example.org/trimmed", "", ""}));
  EXPECT_FALSE(known->guids[0].alias_trimmed);
  EXPECT_TRUE(known->guids[4].alias_trimmed);
}

TEST_F(Rekeying, FindsNoOtherSpellingForTwoOfOneDocument) {
  add();
  refresh({post("http://example.org/a", 100)});
  std::vector<EntryRecord> posts;
  for (int n = 0; n < 10'000; ++n) posts.push_back(post("https://example.org/a?utm_content=" + std::to_string(n), 100));
  const LookUp wanted{feed_url, posts};
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  for (const StoredSnapshot::Guid& guid : known->guids) EXPECT_EQ(guid.alias, "");
}

// Redis returns the fields of a hash with a long value in arbitrary order.
TEST_F(Rekeying, LooksUpFieldsInTheOrderThatDigestsFollow) {
  add();
  std::vector<EntryRecord> posts;
  for (int n = 0; n < 10; ++n) {
    EntryRecord& made = posts.emplace_back(post("g" + std::to_string(n), 100 + n));
    made.fields.insert(made.fields.begin(), {"content", std::string(1000, 'x')});
  }
  refresh(posts);
  for (EntryRecord& each : posts) each.digest = "another";
  const LookUp wanted{feed_url, posts};
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  for (const StoredSnapshot::Guid& guid : known->guids) {
    EXPECT_GE(guid.fields.size(), 10U);
    EXPECT_TRUE(std::ranges::is_sorted(guid.fields));
  }
}

TEST_F(Rekeying, LooksUpPostsByTheirSeconds) {
  add();
  refresh({post("a", 100), post("b", 200), post("c", 200)});
  std::vector<EntryRecord> crowd;
  for (int n = 0; n < 5; ++n) crowd.push_back(post("crowd" + std::to_string(n), 300));
  refresh(crowd);
  LookUp wanted{feed_url, {}};
  const std::vector<std::int64_t> seconds{100, 150, 200, 300};
  wanted.seconds = seconds;
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  std::vector<std::string> guids;
  for (const StoredSnapshot::Guid& found : known->same_second) guids.emplace_back(value_of(found.fields, "guid"));
  EXPECT_EQ(guids, (std::vector<std::string>{"a", "c", "b"})) << "five in one second are too many";
  EXPECT_EQ(known->same_second[0].id, "Entry:1");
}

// RFC 6721
TEST_F(Rekeying, DeletesWhatItsPublisherDeletes) {
  add();
  EntryRecord dated = post("b", 200);
  dated.fields.insert(dated.fields.begin(), {"date_updated", "2026-03-01T12:00:00Z"});
  refresh({dated, post("a", 100)});
  const std::vector<Deletion> deletions{{"b", 1}, {"never", 1}, {"a", 1}};
  const LookUp wanted{feed_url, {}, deletions};
  const auto known = Ingest(store).look_up(std::span(&wanted, 1)).front();
  ASSERT_TRUE(known);
  EXPECT_EQ(known->deletable, (std::vector<std::string>{"2026-03-01T12:00:00Z", "", "0"}));

  for (int times = 0; times < 2; ++times) {
    Commit commit = plan(claim_one(), {post("a", 100)});
    commit.deleted = {"b", "never"};
    EXPECT_EQ(send(commit).deleted, times == 0 ? 1U : 0U);
  }
  ASSERT_EQ(signals("post_deleted").size(), 1U);
  EXPECT_EQ(signals("post_deleted")[0].at("entity_id").as_string(), "Entry:2");
  EXPECT_EQ(signals("post_deleted")[0].at("guid").as_string(), "b");
  EXPECT_EQ(signals("post_deleted")[0].at("data").at("why").as_string(), "publisher");
  EXPECT_EQ(redis({"EXISTS", "Entry:2"}), "0");
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "1");
  EXPECT_EQ(redis({"EXISTS", feed_url + ":tombs"}), "0") << "nothing to remember";
  EXPECT_EQ(refresh({dated, post("a", 100)}).created, 1U) << "whoever publishes it lists it again";
  expect_whole();
}

TEST_F(Rekeying, DoesNotReviveAPostRemovedInTheMeantime) {
  add();
  refresh({post("a", 100, "old")});
  const Commit commit = plan(claim_one(), {post("a", 100, "new")});
  ASSERT_EQ(commit.entries.size(), 1U);
  for (const std::string key : {"Entry:1"}) redis({"DEL", key});
  redis({"HDEL", feed_url + ":guidmap", "a"});
  redis({"ZREM", feed_url + ":sort", "Entry:1"});
  EXPECT_EQ(send(commit).modified, 0U);
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
  EXPECT_TRUE(signals("post_modified").empty());
}

}  // namespace
}  // namespace feedmill::test::rekey_test
