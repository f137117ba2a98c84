// Retention and its tombstones (RELIABILITY L7, I3, I4, I15): trimmed posts must not return.
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::trim_test {
namespace {

using test::feed_url;

class TrimTest : public test::StoreTest {
 protected:
  /// Posts first … last - 1, newest first; the highest number is the newest.
  static std::vector<EntryRecord> posts(int first, int last) {
    std::vector<EntryRecord> all;
    for (int i = last - 1; i >= first; --i) all.push_back(post("g" + std::to_string(i), 1000 + i));
    return all;
  }

  /// A poll without a document, as after a 304.
  Committed unchanged_poll(Retention retention, std::uint64_t listed) {
    Commit commit = plan(claim_one(), {});
    commit.document = false;
    commit.trim = true;
    commit.tombs_left.clear();
    commit.retention = retention;
    commit.retention.listed = listed;
    return send(commit);
  }

  int stored() { return std::stoi(redis({"ZCARD", feed_url + ":sort"})); }
  int tombs() { return std::stoi(redis({"ZCARD", feed_url + ":tombs"})); }
  std::string last_id() { return redis({"GET", "ids:Entry"}); }

  /// Checks that map, index, digests and entries agree, and that the counted bytes are right.
  void expect_consistent() {
    std::uint64_t bytes = 0;
    const auto all = Entries(store).all_by_order(feed_url, 1'000'000);
    ASSERT_TRUE(all);
    std::set<std::string> guids;
    for (const StoredEntry& entry : *all) {
      EXPECT_EQ(redis({"HGET", feed_url + ":guidmap", entry.get("guid")}), entry.id);
      EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", entry.get("guid")}), "(nil)") << entry.get("guid");
      EXPECT_EQ(entry.get("bytes"), std::to_string(entry_bytes(entry.fields)));
      bytes += entry_bytes(entry.fields);
      guids.insert(entry.get("guid"));
    }
    EXPECT_EQ(guids.size(), all->size());
    EXPECT_EQ(redis({"HLEN", feed_url + ":guidmap"}), std::to_string(all->size()));
    const auto marks = digests();
    EXPECT_EQ(marks.size(), all->size());
    for (const StoredEntry& entry : *all) EXPECT_EQ(marks.at(entry.id), test::packed_mark(entry.get("digest")));
    EXPECT_EQ(Feeds(store).records(std::vector{feed_url})->front()->bytes, bytes);
  }
};

TEST_F(TrimTest, WithinOneSecondTheLastStoredAreTheNewest) {
  add();
  const Retention retention{.entries = 12, .strict = true};
  const auto same_day = [](int first, int last) {
    std::vector<EntryRecord> all;
    for (int i = last - 1; i >= first; --i) all.push_back(post("g" + std::to_string(i), 1000));
    return all;
  };
  EXPECT_EQ(refresh(same_day(0, 12), retention).created, 12U);
  for (int first = 5; first <= 40; first += 5) {  // five new posts per poll, all in one second
    EXPECT_EQ(refresh(same_day(first, first + 12), retention).created, 5U) << first;
    for (int i = first; i < first + 12; ++i) {
      EXPECT_NE(redis({"HGET", feed_url + ":guidmap", "g" + std::to_string(i)}), "(nil)") << first << " g" << i;
    }
    EXPECT_EQ(stored(), 12);
  }
  EXPECT_EQ((*Entries(store).expire(feed_url, 4)).value_or(0), 8U);
  EXPECT_NE(redis({"HGET", feed_url + ":guidmap", "g51"}), "(nil)") << "the newest stay";
  expect_consistent();
}

TEST_F(TrimTest, ABrokenCounterWritesNothing) {
  add();
  refresh({post("a", 1), post("b", 2)});
  redis({"SET", "ids:Entry", "abc"});
  const std::string before = *EventStream(store).last_id();
  const Commit edit = plan(claim_one(), {post("a", 1, "changed"), post("c", 3)});
  const Commit* const one = &edit;
  const auto refused = Ingest(store).commit(std::span(&one, 1)).front();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, StoreError::Code::misconfigured) << refused.error().detail;
  EXPECT_EQ(*EventStream(store).last_id(), before);
  EXPECT_EQ(redis({"HGET", "Entry:1", "rev"}), "1") << "all or nothing";
}

TEST_F(TrimTest, ABrokenTombstoneKeyKeepsPosts) {
  add();
  refresh({post("a", 1), post("b", 2), post("c", 3)});
  redis({"SET", feed_url + ":tombs", "x"});
  EXPECT_FALSE(Entries(store).remove("Entry:1"));
  EXPECT_FALSE(Entries(store).expire(feed_url, 1));
  EXPECT_EQ(redis({"EXISTS", "Entry:1"}), "1");
  EXPECT_EQ(stored(), 3);
}

TEST_F(TrimTest, AMarkOfARemovalTakesNoFeedThatIsRegistered) {
  add();
  refresh({post("a", 1)});
  redis({"SADD", "state:removals", feed_url});
  EXPECT_EQ(*Feeds(store).finish_removals(), 0U);
  EXPECT_EQ(stored(), 1);
  EXPECT_EQ(redis({"SISMEMBER", "feeds", feed_url}), "1");
  EXPECT_EQ(redis({"SCARD", "state:removals"}), "0");
}

TEST_F(TrimTest, AFeedThatLists500Brings500OnceAndThenNothing) {
  add();
  const Retention retention{.entries = 50};
  EXPECT_EQ(refresh(posts(0, 500), retention).created, 500U);
  for (int poll = 0; poll < 100; ++poll) {
    const Committed done = refresh(posts(0, 500), retention);
    EXPECT_EQ(done.created + done.modified + done.trimmed + done.tombstoned + done.events, 0U) << poll;
  }
  EXPECT_EQ(stored(), 500);
  EXPECT_EQ(last_id(), "500");
  expect_consistent();
}

TEST_F(TrimTest, AMovingWindowOf500CreatesOnlyNewPosts) {
  add();
  const Retention retention{.entries = 50};
  refresh(posts(0, 500), retention);
  for (int poll = 1; poll <= 100; ++poll) {
    const Committed done = refresh(posts(poll, 500 + poll), retention);
    EXPECT_EQ(done.created, 1U) << poll;
    EXPECT_EQ(done.trimmed, 1U) << poll;
  }
  EXPECT_EQ(stored(), 500);
  EXPECT_EQ(last_id(), "600");
  expect_consistent();
}

TEST_F(TrimTest, StrictKeepsExactlyTheNumberWhateverIsListed) {
  add();
  const Retention strict{.entries = 50, .strict = true};
  const Committed first = refresh(posts(0, 500), strict);
  EXPECT_EQ(first.created, 50U);
  EXPECT_EQ(first.tombstoned, 450U);
  for (int poll = 0; poll < 100; ++poll) {
    const Committed done = refresh(posts(0, 500), strict);
    EXPECT_EQ(done.created + done.trimmed + done.tombstoned + done.events, 0U) << poll;
  }
  for (int poll = 1; poll <= 100; ++poll) {
    EXPECT_EQ(refresh(posts(0, 500 + poll), strict).created, 1U) << poll;  // the document keeps listing all posts
  }
  EXPECT_EQ(stored(), 50);
  EXPECT_EQ(tombs(), 550);
  EXPECT_EQ(last_id(), "150");
  expect_consistent();
}

// RELIABILITY I15, literally.
TEST_F(TrimTest, WhatTheHardCapTookStaysAwayWhenTheFeedListsLess) {
  add();
  const Retention capped{.entries = 50, .hard_cap = 100};
  EXPECT_EQ(refresh(posts(0, 500), capped).created, 100U);
  for (int poll = 0; poll < 100; ++poll) EXPECT_EQ(refresh(posts(0, 500), capped).created, 0U) << poll;
  EXPECT_EQ(last_id(), "100");
  // The document lists 50 posts that the store does not have: they were trimmed, although there is room for them now.
  EXPECT_EQ(refresh(posts(300, 350), capped).created, 0U);
  EXPECT_EQ(refresh(posts(300, 350), capped).created, 0U);
  EXPECT_EQ(stored(), 50) << "what the document does not list any more is trimmed to retention.entries";
  expect_consistent();
}

TEST_F(TrimTest, DocumentsOf5000PostsAreHeldToTheCap) {
  add();
  const Committed first = refresh(posts(0, 5000));
  EXPECT_EQ(first.created, 2000U);
  EXPECT_EQ(first.tombstoned, 3000U);
  EXPECT_EQ(first.trimmed, 0U) << "nothing is created only to be trimmed";
  for (int poll = 1; poll <= 3; ++poll) {
    const Committed done = refresh(posts(poll, 5000 + poll));
    EXPECT_EQ(done.created, 1U);
    EXPECT_EQ(done.trimmed, 1U);
  }
  EXPECT_EQ(stored(), 2000);
  EXPECT_EQ(tombs(), 3003);
  EXPECT_EQ(redis({"ZCOUNT", feed_url + ":tombs", "-inf", "(+inf"}), "3") << "those have left the document";
  expect_consistent();
}

TEST_F(TrimTest, APostThatLeavesAndReturnsWithinTheGraceStaysAway) {
  add();
  const Retention strict{.entries = 2, .strict = true};
  refresh(posts(0, 3), strict);
  refresh(posts(1, 3), strict);
  EXPECT_NE(redis({"ZSCORE", feed_url + ":tombs", "g0"}), "inf");
  EXPECT_EQ(refresh(posts(0, 3), strict).created, 0U);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "g0"}), "inf") << "listed again: its grace has not begun";
}

TEST_F(TrimTest, APostThatReturnsAfterTheGraceIsNew) {
  add();
  const Retention strict{.entries = 2, .strict = true};
  refresh(posts(0, 3), strict);
  refresh(posts(1, 3), strict);
  redis({"ZADD", feed_url + ":tombs", "XX", "1", "g0"});  // long before the grace period
  refresh(posts(2, 4), strict);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "g0"}), "(nil)");
  const Committed done = refresh({post("g0", 5000)}, strict);
  EXPECT_EQ(done.created, 1U);
  expect_consistent();
}

TEST_F(TrimTest, RemembersAtMost20000AndForgetsThoseThatLeftFirst) {
  add();
  const Retention strict{.entries = 1, .strict = true};
  refresh(posts(0, 3), strict);  // two tombstones of listed posts
  std::vector<std::string> words{"ZADD", feed_url + ":tombs"};
  const std::int64_t now = store.now()->count();
  for (int i = 0; i < 20'010; ++i) {
    words.push_back(std::to_string(now - 20'010 + i));
    words.push_back("old" + std::to_string(i));
  }
  redis(words);
  refresh(posts(0, 3), strict);
  EXPECT_EQ(tombs(), 20'000);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "old11"}), "(nil)");
  EXPECT_NE(redis({"ZSCORE", feed_url + ":tombs", "old12"}), "(nil)");
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "g1"}), "inf");
}

TEST_F(TrimTest, MoreThan100GoOverSeveralPolls) {
  add();
  refresh(posts(0, 350), {.entries = 50});
  const Retention strict{.entries = 20, .strict = true};
  std::vector<std::uint32_t> trimmed;
  // The following polls are answered with 304: the remaining posts are trimmed nevertheless.
  trimmed.push_back(refresh(posts(0, 350), strict).trimmed);
  EXPECT_EQ(redis({"HGET", "state:feed:" + feed_url, "untrimmed"}), "1");
  EXPECT_TRUE(Feeds(store).records(std::vector{feed_url})->front()->state.trim.unfinished);
  for (int poll = 0; poll < 4; ++poll) trimmed.push_back(unchanged_poll(strict, 350).trimmed);
  EXPECT_EQ(trimmed, (std::vector<std::uint32_t>{100, 100, 100, 30, 0}));
  EXPECT_EQ(redis({"HEXISTS", "state:feed:" + feed_url, "untrimmed"}), "0");
  EXPECT_EQ(refresh(posts(0, 350), strict).created, 0U);
  EXPECT_EQ(signals("post_trimmed").size(), 330U);
  expect_consistent();
}

TEST_F(TrimTest, NewPostsOfABurstAreKeptWhileTheOldWaitForTheirTrim) {
  add();
  refresh(posts(0, 350), {.entries = 50});
  const Retention strict{.entries = 20, .strict = true};
  const Committed done = refresh(posts(10, 360), strict);
  EXPECT_EQ(done.created, 10U);
  EXPECT_EQ(done.trimmed, 100U);
  while (unchanged_poll(strict, 350).trimmed > 0) {
  }
  EXPECT_EQ(stored(), 20);
  EXPECT_EQ(redis({"HEXISTS", feed_url + ":guidmap", "g359"}), "1");
  EXPECT_EQ(refresh(posts(0, 360), strict).created, 0U);
  expect_consistent();
}

TEST_F(TrimTest, PostsTooOldAreNeverCreatedAndAreTrimmedOnceTooOld) {
  add();
  const std::int64_t now = store.now()->count() / 1000;
  constexpr std::int64_t day = 24 * 3600L;
  const std::vector<EntryRecord> document{post("new", now - day), post("mid", now - 20 * day),
                                          post("old", now - 40 * day)};
  const Retention month{.age = std::chrono::hours(24 * 30)};
  const Committed first = refresh(document, month);
  EXPECT_EQ(first.created, 2U);
  EXPECT_EQ(first.tombstoned, 1U);
  EXPECT_EQ(refresh(document, month).events, 0U);
  const Retention week{.age = std::chrono::hours(24 * 7)};
  EXPECT_EQ(unchanged_poll(week, 3).trimmed, 1U);
  EXPECT_EQ(redis({"HKEYS", feed_url + ":guidmap"}), "new");
  for (const Retention& later : {week, month, Retention()}) {
    EXPECT_EQ(refresh(document, later).created, 0U) << "what went stays away, also when it would be kept today";
  }
  EXPECT_EQ(tombs(), 2);
  expect_consistent();
}

TEST_F(TrimTest, AnUndatedPostAgesFromWhenItWasFirstSeen) {
  add();
  EntryRecord undated = post("u", 0);
  undated.timestamp.reset();
  const Retention day{.age = std::chrono::hours(24)};
  EXPECT_EQ(refresh({undated}, day).created, 1U);
  redis({"ZADD", feed_url + ":sort", std::to_string(store.now()->count() / 1000 - 2 * 86'400L), "Entry:1"});
  EXPECT_EQ(unchanged_poll(day, 1).trimmed, 1U);
  EXPECT_EQ(refresh({undated}, day).created, 0U);
  EXPECT_EQ(redis({"ZSCORE", feed_url + ":tombs", "u"}), "inf");
}

TEST_F(TrimTest, CountsBytesAndTrimsByThem) {
  add();
  const std::uint64_t one = entry_bytes(post("g100", 1).fields);  // size of each of g100 … g199
  const Retention ten{.bytes = 10 * one};
  const Committed first = refresh(posts(100, 130), ten);
  EXPECT_EQ(first.created, 10U);
  EXPECT_EQ(first.tombstoned, 20U);
  expect_consistent();
  EXPECT_EQ(refresh(posts(100, 130), ten).events, 0U);
  EXPECT_EQ(refresh(posts(101, 133), ten).created, 3U);
  EXPECT_EQ(stored(), 10);
  expect_consistent();
  // A post that grows displaces others.
  std::vector<EntryRecord> grown = posts(101, 133);
  grown.front() = post("g132", 1132, std::string(2 * one, 'x'));
  const Committed edited = refresh(grown, ten);
  EXPECT_EQ(edited.modified, 1U);
  EXPECT_EQ(edited.trimmed, 2U);
  expect_consistent();
  // The newest post stays, whatever its size.
  grown.front() = post("g132", 1132, std::string(20 * one, 'x'));
  refresh(grown, ten);
  EXPECT_EQ(stored(), 1);
  expect_consistent();
  EXPECT_EQ(refresh(posts(101, 133), ten).created, 0U) << "nothing that went comes back when there is room again";
}

TEST_F(TrimTest, BytesAreCountedEvenWithoutALimit) {
  add();
  refresh(posts(0, 120), {.entries = 100, .strict = true});
  std::vector<EntryRecord> edited = posts(0, 120);
  for (int i = 0; i < 10; ++i) edited[static_cast<std::size_t>(i)].digest = edited[0].fields[1].second = "longer title";
  refresh(edited, {.entries = 90, .strict = true});
  expect_consistent();
}

TEST_F(TrimTest, DeletionsOfTrimsArePublishedWhenAskedFor) {
  Store telling(StoreOptions{.url = server.url(), .signals_deleted = true});
  ASSERT_TRUE(telling.open());
  std::swap(store, telling);
  add();
  refresh(posts(0, 3), {.entries = 2, .strict = true});
  refresh(posts(0, 4), {.entries = 2, .strict = true});
  ASSERT_EQ(signals("post_deleted").size(), 1U);
  EXPECT_EQ(signals("post_deleted")[0].at("data").at("why").as_string(), "trim");
}

}  // namespace
}  // namespace feedmill::trim_test
