// What operators and programs do to posts: save, update_or_create, remove, expire, read in order (DESIGN §3.2).
#include "storage/entries/entries.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::entries_test {
namespace {

using test::feed_url;
using Result = Saved::Result;

class EntriesTest : public test::StoreTest {
 protected:
  Saved save(const std::string& guid, const Fields& fields) {
    return checked(Entries(store).save({feed_url, guid, fields}));
  }
  Saved update(const std::string& guid, const Fields& fields) {
    return checked(Entries(store).update_or_create({feed_url, guid, fields}));
  }
  static Saved checked(const StoreResult<Saved>& saved) {
    EXPECT_TRUE(saved) << saved.error().detail;
    return saved ? *saved : Saved();
  }
  std::string field(const std::string& id, const std::string& name) { return redis({"HGET", id, name}); }
  std::vector<std::string> keys() {
    std::vector<std::string> all;
    std::istringstream words(redis({"KEYS", "*"}));
    for (std::string word; words >> word;) all.push_back(word);
    std::sort(all.begin(), all.end());
    return all;
  }
  std::uint64_t counted_bytes() { return Feeds(store).records(std::vector{feed_url})->front()->bytes; }
  std::uint64_t stored_bytes() {
    std::uint64_t bytes = 0;
    for (const StoredEntry& entry : *Entries(store).all_by_order(feed_url, 1000)) bytes += entry_bytes(entry.fields);
    return bytes;
  }
};

TEST_F(EntriesTest, SavesANewPostWithItsIndexesAndItsSignal) {
  add();
  const Saved saved = save("note", {{"title", "A note"},
                                    {"link", "https://example.org/note?utm_source=x"},
                                    {"content", "<p>Hello <b>there</b></p>"},
                                    {"author", "Anna"},
                                    {"date_published", "Sun, 01 Mar 2026 12:00:00 GMT"}});
  EXPECT_EQ(saved.result, Result::created);
  EXPECT_EQ(saved.id, "Entry:1");
  EXPECT_EQ(saved.rev, 1);
  EXPECT_EQ(redis({"ZRANGE", feed_url + ":sort", "0", "-1", "WITHSCORES"}), "Entry:1 1772366400");
  EXPECT_EQ(redis({"HGET", feed_url + ":guidmap", "note"}), "Entry:1");
  const auto entry = Entries(store).get_by_guid(feed_url, "note");
  ASSERT_TRUE(*entry);
  EXPECT_EQ((*entry)->get("date_published"), "2026-03-01T12:00:00Z");
  EXPECT_EQ((*entry)->get("canonical_url"), "https://example.org/note");
  EXPECT_EQ((*entry)->get("summary_text"), "Hello there");
  EXPECT_EQ((*entry)->get("content_type"), "text/html");
  EXPECT_EQ((*entry)->get("authors"), "") << "author says it";
  EXPECT_EQ(test::packed_mark((*entry)->get("digest")), digests()["Entry:1"]);
  EXPECT_NE((*entry)->get("saved"), "");
  ASSERT_EQ(signals("post_created").size(), 1U);
  EXPECT_EQ(signals("post_created")[0].at("guid").as_string(), "note");
  EXPECT_EQ(signals("post_created")[0].at("data").at("title").as_string(), "A note");
  EXPECT_EQ(counted_bytes(), stored_bytes());
}

TEST_F(EntriesTest, UpdatesOnlyWhatDiffersAndCountsTheRevUp) {
  add();
  save("note", {{"title", "First"}, {"link", "https://example.org/1"}, {"summary", "Text"}});
  const Saved same = update("note", {{"title", "First"}});
  EXPECT_EQ(same.result, Result::unchanged);
  EXPECT_EQ(same.rev, 1);
  EXPECT_EQ(signals().size(), 1U);
  const Saved changed = update("note", {{"title", "Second"}});
  EXPECT_EQ(changed.result, Result::modified);
  EXPECT_EQ(changed.id, "Entry:1");
  EXPECT_EQ(changed.rev, 2);
  EXPECT_EQ(field("Entry:1", "rev"), "2");
  EXPECT_EQ(field("Entry:1", "summary"), "Text");
  ASSERT_EQ(signals("post_modified").size(), 1U);
  const boost::json::object signal = signals("post_modified")[0];
  EXPECT_EQ(signal.at("rev").as_int64(), 2);
  EXPECT_EQ(boost::json::serialize(signal.at("changed")), R"({"title":["First","Second"]})");
  // An empty value removes a field; save() removes all fields that it is not given.
  EXPECT_EQ(update("note", {{"summary", ""}}).result, Result::modified);
  EXPECT_EQ(field("Entry:1", "summary"), "(nil)");
  EXPECT_EQ(field("Entry:1", "link"), "https://example.org/1");
  EXPECT_EQ(save("note", {{"title", "Second"}}).result, Result::modified);
  EXPECT_EQ(field("Entry:1", "link"), "(nil)");
  EXPECT_EQ(counted_bytes(), stored_bytes());
  EXPECT_EQ(update("other", {{"title", "New"}}).result, Result::created);
}

TEST_F(EntriesTest, AChangedDateMovesThePost) {
  add();
  save("a", {{"title", "a"}, {"date_published", "2020-01-01T00:00:00Z"}});
  update("a", {{"date_updated", "2021-01-01T00:00:00Z"}});
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":sort", "Entry:1"}), "1609459200");
  EXPECT_EQ(field("Entry:1", "timestamp"), "1609459200");
  update("a", {{"date_updated", "2921-01-01T00:00:00Z"}});
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":sort", "Entry:1"}), "1609459200") << "not into the future";
}

TEST_F(EntriesTest, CleansAndCutsGivenPostsLikeFetchedOnes) {
  add();
  save(" note\n1 ", {{"title",
                      "a\x01"
                      "b\nc\xff"},
                     {"content", "<script>alert(1)</script><p onclick=x>ok <a href=\"javascript:x\">l</a></p>"},
                     {"summary", "plain & <b>simple</b>"},
                     {"summary_type", "text/plain"},
                     {"link", " https://me:secret@example.org/x "}});
  EXPECT_EQ(redis({"HKEYS", feed_url + ":guidmap"}), "note 1");
  const std::string title = field("Entry:1", "title");
  EXPECT_EQ(title.substr(0, 4), "ab c");
  EXPECT_EQ(title.find('\xff'), std::string::npos);
  EXPECT_EQ(field("Entry:1", "content"), "<p>ok <a>l</a></p>");
  EXPECT_EQ(field("Entry:1", "summary"), "plain & <b>simple</b>");
  EXPECT_EQ(field("Entry:1", "summary_type"), "(nil)");
  EXPECT_EQ(field("Entry:1", "link"), "https://example.org/x");
  save("long", {{"title", std::string(10'000, 't')}, {"content", std::string(2'000'000, 'c')}});
  EXPECT_EQ(field("Entry:2", "title").size(), 8192U);
  EXPECT_EQ(field("Entry:2", "content").size(), 1U << 20U);
  EXPECT_EQ(field("Entry:2", "truncated"), "title content");
  update("long", {{"title", "short"}});
  EXPECT_EQ(field("Entry:2", "truncated"), "content");
  save(std::string(2000, 'g'), {{"title", "x"}});
  EXPECT_EQ(field("Entry:3", "guid").substr(0, 7), "sha256:");
  EXPECT_EQ(update(std::string(2000, 'g'), {{"title", "y"}}).id, "Entry:3");
}

TEST_F(EntriesTest, MarkupIsTreatedAsTheFeedSays) {
  add();
  const GivenEntry entry{feed_url, "m", {{"content", "<p class=\"c\" onclick=\"x\">t</p>"}}};
  ASSERT_TRUE(Entries(store).save(entry, {HtmlPolicy::raw, false}));
  EXPECT_EQ(field("Entry:1", "content"), "<p class=\"c\" onclick=\"x\">t</p>");
  EXPECT_EQ(field("Entry:1", "san_ver"), "0");
  ASSERT_TRUE(Entries(store).update_or_create({feed_url, "m", {{"title", "t"}}}));
  EXPECT_EQ(field("Entry:1", "san_ver"), "0") << "the content is as untouched as before";
  ASSERT_TRUE(Entries(store).save(entry, {HtmlPolicy::strict, true}));
  EXPECT_EQ(field("Entry:1", "content"), "<p class=\"c\">t</p>");
  EXPECT_EQ(field("Entry:1", "san_ver"), "3");
}

TEST_F(EntriesTest, TakesListsAsTheStoreHoldsThem) {
  add();
  const std::string enclosures =
      R"([{"url":"https://example.org/a.mp3","type":"audio/mpeg","length":12,"duration":3}])";
  save("l", {{"authors", R"([{"name":"Anna","email":"a@example.org"},{"name":"Bo"}])"},
             {"categories", R"([{"term":"x","label":"y"}])"},
             {"enclosures", enclosures}});
  EXPECT_EQ(field("Entry:1", "author"), "Anna (a@example.org)");
  EXPECT_EQ(boost::json::parse(field("Entry:1", "enclosures")), boost::json::parse(enclosures));
  update("l", {{"title", "t"}});
  EXPECT_EQ(boost::json::parse(field("Entry:1", "enclosures")), boost::json::parse(enclosures));
  update("l", {{"authors", ""}});
  EXPECT_EQ(field("Entry:1", "author") + field("Entry:1", "authors"), "(nil)(nil)");
}

struct Unfit {
  const char* name;
  Fields fields;
  const char* why;
};
class UnfitFields : public EntriesTest, public testing::WithParamInterface<Unfit> {};
TEST_P(UnfitFields, AreRefusedAndNothingIsStored) {
  add();
  const Saved saved = update("u", GetParam().fields);
  EXPECT_EQ(saved.result, Result::unfit);
  EXPECT_NE(saved.detail.find(GetParam().why), std::string::npos) << saved.detail;
  EXPECT_EQ(redis({"EXISTS", "ids:Entry", "stream:signals", feed_url + ":guidmap"}), "0");
}
INSTANTIATE_TEST_SUITE_P(
    All, UnfitFields,
    testing::Values(Unfit{"Unknown", {{"colour", "x"}}, "colour: cannot be given"},
                    Unfit{"OurOwn", {{"rev", "7"}}, "rev: cannot be given"},
                    Unfit{"Timestamp", {{"timestamp", "7"}}, "timestamp: cannot be given"},
                    Unfit{"Twice", {{"title", "a"}, {"title", "b"}}, "title: given twice"},
                    Unfit{"Date", {{"date_published", "yesterday"}}, "date_published: not a date"},
                    Unfit{"Link", {{"link", "javascript:alert(1)"}}, "link: write an absolute"},
                    Unfit{"Type", {{"content", "x"}, {"content_type", "image/png"}}, "content_type: write"},
                    Unfit{"NoJson", {{"authors", "Anna"}}, "authors: write JSON as"},
                    Unfit{"NoArray", {{"categories", "{}"}}, "categories: write JSON as"},
                    Unfit{"Member", {{"categories", R"([{"term":"a","colour":"b"}])"}}, "unknown member"},
                    Unfit{"NoUrl", {{"enclosures", R"([{"type":"a/b"}])"}}, "enclosures: url"},
                    Unfit{"Negative", {{"enclosures", R"([{"url":"https://a.org/","length":-1}])"}}, "length must be"},
                    Unfit{"Both", {{"author", "a"}, {"authors", "[]"}}, "author: follows from authors"}),
    [](const auto& test) { return test.param.name; });

TEST_F(EntriesTest, ReportsAnUnknownFeedAndWritesNothing) {
  EXPECT_EQ(save("a", {{"title", "t"}}).result, Result::unknown_feed);
  EXPECT_FALSE(*Entries(store).expire(feed_url));
  EXPECT_FALSE(*Entries(store).remove("Entry:1"));
  EXPECT_FALSE(*Entries(store).remove("feeds")) << "only entries are looked at";
  EXPECT_EQ(keys(), std::vector<std::string>{"meta:store"});
  EXPECT_EQ(checked(Entries(store).save({feed_url, " ", {}})).result, Result::unfit);
}

TEST_F(EntriesTest, AKeyOfTheWrongTypeStopsASaveBeforeItsFirstWrite) {
  add();
  for (const std::string& key : {feed_url + ":sort", feed_url + ":guidmap", "state:items:" + feed_url,
                                 feed_url + ":tombs", std::string("stream:signals")}) {
    redis({"LPUSH", key, "x"});
    const auto saved = Entries(store).save({feed_url, "a", {{"title", "t"}}});
    EXPECT_FALSE(saved) << key;
    redis({"DEL", key});
    EXPECT_EQ(redis({"EXISTS", "ids:Entry", "Entry:1"}), "0") << key;
  }
}

TEST_F(EntriesTest, ASavedPostOutlastsPollsThatDoNotListIt) {
  add();
  const Retention retention{.entries = 2};
  refresh({post("b", 200), post("a", 100)}, retention);
  save("note", {{"title", "Note"}});
  for (int poll = 0; poll < 3; ++poll) {
    const Committed done = refresh({post("b", 200), post("a", 100)}, retention);
    EXPECT_EQ(done.created + done.modified, 0U);
  }
  // Retention treats it like other posts: the newest stay, and this is the newest.
  EXPECT_EQ(redis({"HKEYS", feed_url + ":guidmap"}).find("a"), std::string::npos);
  EXPECT_NE(redis({"HGET", feed_url + ":guidmap", "note"}), "(nil)");
}

TEST_F(EntriesTest, SavedFieldsLastUntilThePublisherChangesThePost) {
  add();
  refresh({post("a", 100, "Theirs")});
  EXPECT_EQ(update("a", {{"title", "Ours"}}).result, Result::modified);
  for (int poll = 0; poll < 3; ++poll) EXPECT_EQ(refresh({post("a", 100, "Theirs")}).modified, 0U);
  EXPECT_EQ(field("Entry:1", "title"), "Ours");
  EXPECT_NE(field("Entry:1", "saved"), "(nil)");
  EXPECT_EQ(refresh({post("a", 100, "Theirs again")}).modified, 1U);
  EXPECT_EQ(field("Entry:1", "title"), "Theirs again");
  EXPECT_EQ(field("Entry:1", "saved"), "(nil)");
  EXPECT_EQ(field("Entry:1", "rev"), "3");
  EXPECT_EQ(counted_bytes(), stored_bytes());
}

TEST_F(EntriesTest, ASaveDuringARefreshIsNotUndoneByItsCommit) {
  add();
  refresh({post("b", 200, "b1"), post("a", 100, "a1")});
  Commit commit = plan(claim_one(), {post("b", 200, "b2"), post("a", 100, "a2")});
  update("a", {{"summary", "Ours"}});
  EXPECT_EQ(send(commit).modified, 2U);
  EXPECT_EQ(field("Entry:1", "title"), "a2");
  EXPECT_EQ(field("Entry:1", "summary"), "Ours");
  EXPECT_EQ(field("Entry:1", "rev"), "3");
  std::set<std::int64_t> revs;
  for (const auto& signal : signals("post_modified")) {
    if (signal.at("guid").as_string() == "a") revs.insert(signal.at("rev").as_int64());
  }
  EXPECT_EQ(revs, (std::set<std::int64_t>{2, 3})) << "one record for each rev (RELIABILITY I5)";
  EXPECT_EQ(counted_bytes(), stored_bytes());
}

TEST_F(EntriesTest, APostRemovedDuringARefreshIsNotPutTogetherAgain) {
  add();
  refresh({post("b", 200, "b1"), post("a", 100, "a1")});
  Commit commit = plan(claim_one(), {post("c", 300), post("b", 200, "b2"), post("a", 100, "a2")});
  ASSERT_TRUE(*Entries(store).remove("Entry:1"));
  save("c", {{"title", "Ours"}});
  const Committed done = send(commit);
  EXPECT_EQ(done.modified, 1U);
  EXPECT_EQ(done.created, 0U) << "there is one already";
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
  EXPECT_FALSE(digests().contains("Entry:1"));
  // This applies also to a post that was unknown at look-up and has been removed since.
  commit = plan(claim_one(), {post("d", 400)});
  save("d", {{"title", "Ours"}});
  ASSERT_TRUE(*Entries(store).remove((*Entries(store).get_by_guid(feed_url, "d"))->id));
  EXPECT_EQ(send(commit).created, 0U);
  EXPECT_EQ(counted_bytes(), stored_bytes());
}

TEST_F(EntriesTest, ARemovedPostStaysAwayWhileItsFeedListsIt) {
  add();
  refresh({post("b", 200), post("a", 100)});
  EXPECT_TRUE(*Entries(store).remove("Entry:1"));
  EXPECT_FALSE(*Entries(store).remove("Entry:1"));
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "0");
  EXPECT_EQ(redis({"ZRANGE", feed_url + ":sort", "0", "-1"}), "Entry:2");
  EXPECT_EQ(redis({"HKEYS", feed_url + ":guidmap"}), "b");
  EXPECT_EQ(digests().size(), 1U);
  EXPECT_TRUE(digests().contains("Entry:2"));
  ASSERT_EQ(signals("post_deleted").size(), 1U);
  const boost::json::object signal = signals("post_deleted")[0];
  EXPECT_EQ(signal.at("guid").as_string(), "a");
  EXPECT_EQ(signal.at("entity_id").as_string(), "Entry:1");
  EXPECT_EQ(signal.at("feed_url").as_string(), feed_url);
  EXPECT_EQ(signal.at("data").at("why").as_string(), "operator");
  EXPECT_EQ(counted_bytes(), stored_bytes());
  for (int poll = 0; poll < 3; ++poll) EXPECT_EQ(refresh({post("b", 200), post("a", 100, "new title")}).created, 0U);
  // An operator may save the post again.
  EXPECT_EQ(save("a", {{"title", "Back"}}).result, Result::created);
  EXPECT_EQ(redis({"EXISTS", feed_url + ":tombs"}), "0");
}

TEST_F(EntriesTest, RemovingAPostWithoutAFeedDeletesAllItsKeys) {
  redis({"HSET", "Entry:5", "feed_url", feed_url, "guid", "x", "bytes", "10"});
  EXPECT_TRUE(*Entries(store).remove("Entry:5"));
  EXPECT_EQ(keys(), (std::vector<std::string>{"meta:store", "stream:signals"}));
}

TEST_F(EntriesTest, ExpiresByNumberAgeAndBytes) {
  add();
  const std::int64_t now = store.now()->count() / 1000;
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 250; ++i) posts.push_back(post("g" + std::to_string(100 + i), now - i * 3600L - 1800));
  refresh(posts, {.entries = 1000});
  EXPECT_EQ(**Entries(store).expire(feed_url, Expiry{.limit = {}, .age = std::chrono::hours(200), .bytes = {}}), 50U);
  const std::uint64_t one = entry_bytes(posts[0].fields);
  EXPECT_EQ(**Entries(store).expire(feed_url, Expiry{.limit = {}, .age = {}, .bytes = 180 * one}), 20U);
  EXPECT_EQ(counted_bytes(), 180 * one);
  EXPECT_EQ(**Entries(store).expire(feed_url), 130U) << "50 stay when nothing is said";
  EXPECT_EQ(**Entries(store).expire(feed_url), 0U);
  EXPECT_EQ(Entries(store).all_by_order(feed_url, 100)->front().get("guid"), "g100");
  EXPECT_EQ(signals("post_trimmed").size(), 200U);
  EXPECT_EQ(refresh(posts, {.entries = 1000}).created, 0U) << "what went does not come back";
  EXPECT_EQ(**Entries(store).expire(feed_url, Expiry{.limit = 0, .age = {}, .bytes = {}}), 50U);
  EXPECT_EQ(counted_bytes(), 0U);
}

// RELIABILITY L9.
TEST_F(EntriesTest, WhatOnlyFreesWorksWhenRedisIsOutOfMemory) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 30; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
  refresh(posts);
  make_all_due();
  const ClaimBatch batch = claim();
  redis({"CONFIG", "SET", "maxmemory", "1"});
  const auto saved = Entries(store).save({feed_url, "x", {{"title", "t"}}});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, StoreError::Code::out_of_memory);
  EXPECT_TRUE(*Entries(store).remove("Entry:1"));
  EXPECT_EQ(**Entries(store).expire(feed_url, 20), 9U);
  EXPECT_EQ(*Ingest(store).release(batch.claims), 1U);
  EXPECT_TRUE(*Feeds(store).remove(feed_url));
  redis({"CONFIG", "SET", "maxmemory", "0"});
  for (const std::string& key : keys()) {
    EXPECT_EQ(key.find(feed_url), std::string::npos) << key;
    EXPECT_FALSE(key.starts_with("Entry:")) << key;
  }
}

TEST_F(EntriesTest, PagesExactlyThroughManyEqualSeconds) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 350; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i / 120));  // 120 posts a second
  refresh(posts, {.entries = 1000});
  std::vector<std::string> wanted;
  for (const StoredEntry& entry : *Entries(store).all_by_order(feed_url, 1000)) wanted.push_back(entry.id);
  ASSERT_EQ(wanted.size(), 350U);
  const auto walk = [&](std::size_t limit, auto between) {
    std::vector<std::string> seen;
    for (std::optional<EntryCursor> cursor;;) {
      const auto page = Entries(store).all_by_order(feed_url, limit, cursor);
      EXPECT_TRUE(page->size() == limit || seen.size() + page->size() >= 349) << limit;
      for (const StoredEntry& entry : *page) seen.push_back(entry.id);
      if (page->size() < limit) return seen;
      cursor = EntryCursor{std::stoll(page->back().get("timestamp")), page->back().id};
      between(seen);
    }
  };
  const auto nothing = [](const std::vector<std::string>&) {};
  for (const std::size_t limit : {1U, 7U, 119U, 120U, 121U, 349U, 350U, 351U}) EXPECT_EQ(walk(limit, nothing), wanted);
  EXPECT_TRUE(Entries(store).all_by_order(feed_url, 0)->empty());
  // Posts created or removed during the walk do not shift the pages.
  const auto seen = walk(7, [&](const std::vector<std::string>& so_far) {
    if (so_far.size() == 7) save("new", {{"title", "newest"}});
    if (so_far.size() == 140) {
      EXPECT_TRUE(*Entries(store).remove(so_far.back())) << "the cursor's own post";
    }
  });
  EXPECT_EQ(seen, wanted);
}

// RELIABILITY L17, S15.
TEST_F(EntriesTest, ARemovedFeedLeavesNoKeyWhereverItsRemovalWasCutOff) {
  const std::string other = "https://other.org/feed";
  add(other);
  Channels channels(store);
  ASSERT_TRUE(channels.add(std::vector<std::string>{"anna/news"}));
  make_all_due();
  for (const Claim& claimed : claim().claims) send(plan(claimed, {post("o", 5)}));
  const Membership stays{"anna/news", other};
  ASSERT_TRUE(channels.follow(std::span(&stays, 1)));
  const auto without_hosts = [this] {
    std::vector<std::string> all = keys();
    std::erase_if(all, [](const std::string& key) {
      return key.starts_with("state:host:") || key.starts_with("state:worker:") || key == "ids:Entry";
    });
    return all;
  };
  const std::vector<std::string> before = without_hosts();

  for (int cut = 0; cut < 6; ++cut) {
    add();
    std::vector<EntryRecord> posts;
    for (int i = 0; i < 350; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
    refresh(posts, {.entries = 300, .strict = true});  // leaves tombstones, too
    save("saved", {{"title", "t"}});
    const Membership goes{"anna/news", feed_url};
    ASSERT_TRUE(channels.follow(std::span(&goes, 1)));
    ASSERT_TRUE(channels.mark_read("anna/news", std::vector{(*Entries(store).get_by_guid(feed_url, "saved"))->id}));
    claim();
    // The removing client dies after `cut` steps: first the removal begins, then the feed leaves its channels, then
    // posts are removed in batches of 100.
    const std::string sha = redis({"SCRIPT", "LOAD", scripts::remove});
    for (int step = 0; step < cut; ++step) {
      redis({"EVALSHA", sha, "2", "schedule", "none", "", "", feed_url, "\"" + feed_url + "\"", "100000",
             step == 0 ? "begin" : "go on"});
      if (step == 0) {
        EXPECT_EQ(redis({"SISMEMBER", "feeds", feed_url}), "0") << "out of the feeds first";
        EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), "(nil)");
      }
      if (step == 1) {
        ASSERT_TRUE(channels.forget_feed(feed_url));
      }
    }
    // The next client finishes the removal: a worker, the operator, or a client that adds the feed again.
    const bool half_way = cut > 0 && cut < 5;  // four steps remove posts, the last one also everything else
    if (half_way && cut % 2 == 1) {
      EXPECT_EQ(*Feeds(store).finish_removals(), 1U) << cut;
    }
    if (half_way && cut == 2) {
      EXPECT_EQ(*Feeds(store).add(std::vector{NewFeed{feed_url, {}, "", ""}}), std::vector<bool>{true});
    }
    EXPECT_EQ(*Feeds(store).remove(feed_url), !(half_way && cut % 2 == 1) && cut < 5) << cut;
    EXPECT_EQ(*Feeds(store).finish_removals(), 0U);
    EXPECT_EQ(without_hosts(), before) << cut;
    EXPECT_EQ(redis({"ZRANGE", "zchannel:anna/news:posts", "0", "-1"}), "Entry:1") << cut;
  }
}

TEST_F(EntriesTest, ARemovalThatDiedAmidAChannelLeavesNoPostInIt) {
  Channels channels(store);
  const std::vector<std::string> uids{"anna/news", "bert/news"};
  ASSERT_TRUE(channels.add(uids));
  int steps = 0;
  for (bool to_its_end = false; !to_its_end; ++steps) {
    add();
    std::vector<EntryRecord> posts;
    for (int i = 0; i < 350; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
    refresh(posts);
    for (const std::string& uid : uids) {
      const Membership goes{uid, feed_url};
      ASSERT_TRUE(channels.follow(std::span(&goes, 1)));
    }
    InParts parts;  // the state is lost with the client
    parts.go_on = [left = steps]() mutable { return left-- > 0; };
    ASSERT_TRUE(Feeds(store).remove(feed_url, parts));
    to_its_end = !parts.ended_early;
    EXPECT_EQ(*Feeds(store).finish_removals(), to_its_end ? 0U : 1U) << steps;
    for (const std::string& uid : uids) {
      EXPECT_EQ(redis({"ZCARD", "zchannel:" + uid + ":posts"}), "0") << uid << ' ' << steps;
    }
    EXPECT_EQ(redis({"EXISTS", "state:feed:" + feed_url}), "0") << steps;
  }
  EXPECT_GT(steps, 10);
}

}  // namespace
}  // namespace feedmill::entries_test
