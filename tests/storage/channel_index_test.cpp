// The index of all posts in a channel (RELIABILITY L15).
#include <random>
#include <sstream>

#include "storage/entries/entries.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::channel_index_test {
namespace {

using Texts = std::vector<std::string>;
const std::string other_url = "https://other.org/feed.xml";

class ChannelIndex : public StoreTest {
 protected:
  ChannelIndex() : StoreTest("feedmill_admin") {
    add();
    add(other_url);
    EXPECT_TRUE(channels.add(Texts{"news", "anna/news"}));
    EXPECT_TRUE(
        channels.follow(std::vector<Membership>{{"news", feed_url}, {"news", other_url}, {"anna/news", other_url}}));
    EXPECT_TRUE(deliveries.join());
  }
  void write(const std::string& url, const std::vector<EntryRecord>& posts, std::uint64_t keep = 5'000) {
    EXPECT_EQ(redis({"ZADD", "schedule", "XX", "1", url}), "0");
    Commit commit = plan(claim_of(url), posts, Retention{.entries = keep, .hard_cap = keep, .strict = true});
    send(commit);
  }
  static std::vector<EntryRecord> posts_of(int from, int count, std::int64_t first, std::int64_t step = 1) {
    std::vector<EntryRecord> posts;
    for (int i = from; i < from + count; ++i) posts.push_back(post("g" + std::to_string(i), first + i * step));
    return posts;
  }
  Delivered deliver() {
    Delivered all;
    for (;;) {
      const auto records = deliveries.fresh(500);
      EXPECT_TRUE(records);
      if (!records || records->empty()) return all;
      std::vector<Event> events;
      for (const EventRecord& record : *records) events.push_back(*read_event(record));
      const auto done = deliveries.apply(events);
      EXPECT_TRUE(done);
      all.unbuilt += done->unbuilt;
      all.refused += done->refused;
      EXPECT_TRUE(deliveries.acknowledge(*records));
    }
  }
  std::string index(const std::string& uid = "news") {
    return redis({"ZRANGE", "zchannel:" + uid + ":all", "0", "-1"});
  }
  std::size_t size(const std::string& uid = "news") { return std::stoul(redis({"ZCARD", "zchannel:" + uid + ":all"})); }
  std::string findings() {
    std::string all;
    const auto found = verify(store);
    EXPECT_TRUE(found) << found.error().detail;
    for (const Violation& violation : *found) all += violation.kind + ": " + violation.detail + "\n";
    return all;
  }

  Channels channels{store};
  Deliveries deliveries{store};
};

TEST_F(ChannelIndex, HoldsAllPostsReadOrNotUpToItsBound) {
  write(feed_url, {post("a", 1000), post("b", 1001)});
  write(other_url, {post("c", 1002)});
  deliver();
  ASSERT_TRUE(channels.mark_all_read("news"));
  EXPECT_TRUE(channels.timeline("news", 10)->value().empty());
  EXPECT_EQ(index(), "Entry:1 Entry:2 Entry:3");
  const auto page = channels.posts("news", 2);
  ASSERT_TRUE(page && *page);
  ASSERT_EQ((*page)->size(), 2U);
  EXPECT_EQ((*page)->front().id, "Entry:3");
  const auto rest = channels.posts("news", 2, EntryCursor{1001, "Entry:2"});
  EXPECT_EQ(rest->value().front().id, "Entry:1");
  EXPECT_FALSE(*channels.posts("none", 2));
  // A post moves when its date changes, and leaves the index with its entry.
  write(feed_url, {post("a", 2000, "edited"), post("b", 1001)});
  EXPECT_TRUE(*Entries(store).remove("Entry:2"));
  deliver();
  EXPECT_EQ(index(), "Entry:3 Entry:1");
  EXPECT_EQ(index("anna/news"), "Entry:3");
  // At most 1100 posts: the oldest are dropped at once, and posts older than those kept cannot enter again.
  write(feed_url, posts_of(0, 1100, 10'000));
  deliver();
  EXPECT_EQ(size(), 1001U);
  write(feed_url, {post("older", 5'000)});
  deliver();
  EXPECT_EQ(size(), 1001U);
  write(feed_url, {post("newer", 50'000)});
  deliver();
  EXPECT_EQ(size(), 1002U);
  EXPECT_EQ(findings(), "");
}

TEST_F(ChannelIndex, IsFilledAgainWhenThereIsRoom) {
  write(feed_url, posts_of(0, 1200, 10'000));
  write(other_url, posts_of(0, 50, 1'000));
  deliver();
  EXPECT_LE(size(), 1100U);
  EXPECT_EQ(redis({"ZSCORE", "zchannel:news:all", "Entry:1201"}), "(nil)") << "too old";
  // Most posts are removed: the channel is reported for rebuilding, once.
  ASSERT_TRUE(Entries(store).expire(feed_url, 400));
  EXPECT_EQ(deliver().unbuilt, 1U);
  EXPECT_EQ(*channels.unbuilt(), Texts{"news"});
  EXPECT_EQ(findings(), "") << "nothing is wrong with one that is to be built";
  ASSERT_TRUE(channels.rebuild("news", [] { return true; }));
  EXPECT_EQ(size(), 450U);
  EXPECT_TRUE(channels.unbuilt()->empty());
  // A feed leaves the channel: the posts that it had crowded out enter the index.
  write(feed_url, posts_of(2000, 1200, 50'000));
  deliver();
  EXPECT_EQ(redis({"ZSCORE", "zchannel:news:all", "Entry:1201"}), "(nil)");
  ASSERT_TRUE(channels.unfollow({"news", feed_url}));
  EXPECT_EQ(size(), 50U);
  EXPECT_EQ(findings(), "");
  ASSERT_TRUE(channels.remove("news"));
  EXPECT_EQ(redis({"EXISTS", "zchannel:news:all"}), "0");
  EXPECT_EQ(redis({"HEXISTS", "channel_floors", "news"}), "0");
}

TEST_F(ChannelIndex, KeepsEqualSecondsApart) {
  std::vector<EntryRecord> posts = posts_of(0, 1500, 1'000, 0);
  write(feed_url, posts);
  deliver();
  EXPECT_GE(size(), 1000U);
  EXPECT_LE(size(), 1100U);
  EXPECT_EQ(findings(), "");
}

TEST_F(ChannelIndex, IsExactWhateverHappened) {
  std::minstd_rand random(7);
  for (int round = 0; round < 40; ++round) {
    const std::string& url = random() % 3 == 0 ? other_url : feed_url;
    const int from = static_cast<int>(random() % 900);
    const auto date = static_cast<std::int64_t>(1'000 + random() % 3'000);
    write(url, posts_of(from, static_cast<int>(1 + random() % 300), date, static_cast<std::int64_t>(random() % 2)),
          600 + random() % 900);
    if (random() % 3 != 0) deliver();
    if (random() % 8 == 0) {
      ASSERT_TRUE(channels.unfollow({"news", url}));
    }
    if (random() % 4 == 0) {
      ASSERT_TRUE(channels.follow(std::vector<Membership>{{"news", feed_url}, {"news", other_url}}));
    }
    if (random() % 10 == 0) {
      ASSERT_TRUE(Entries(store).expire(url, random() % 500));
    }
  }
  deliver();
  for (const std::string& uid : *channels.unbuilt()) ASSERT_TRUE(channels.rebuild(uid, [] { return true; }));
  EXPECT_GT(size(), 100U);
  EXPECT_LE(size(), 1100U);
  EXPECT_EQ(findings(), "");
}

TEST_F(ChannelIndex, IsVerifiedAndRepaired) {
  write(feed_url, {post("a", 1000), post("b", 1001), post("c", 1002)});
  deliver();
  redis({"ZREM", "zchannel:news:all", "Entry:1"});
  redis({"ZADD", "zchannel:news:all", "5", "Entry:2", "6", "Entry:999", "1", "no entry"});
  redis({"ZADD", "zchannel:anna/news:all", "1000", "Entry:1"});
  const std::string found = findings();
  for (const char* kind : {"index.missing: Entry:1", "index.score: Entry:2", "index.gone: Entry:999",
                           "index.gone: no entry", "index.foreign: Entry:1"}) {
    EXPECT_NE(found.find(kind), std::string::npos) << kind << " is not in\n" << found;
  }
  VerifyOptions options;
  options.journal = [](const Violation&, const auto&) { return true; };
  ASSERT_TRUE(Verifier(store, std::move(options)).run());
  EXPECT_EQ(index(), "Entry:1 Entry:2 Entry:3");
  EXPECT_EQ(index("anna/news"), "");
  EXPECT_EQ(findings(), "");
  // Keys of a channel that does not exist, and a key of the wrong type.
  redis({"ZADD", "zchannel:lost:all", "1", "Entry:1"});
  EXPECT_NE(findings().find("channel.orphan"), std::string::npos);
  redis({"DEL", "zchannel:lost:all", "zchannel:news:all"});
  redis({"SET", "zchannel:news:all", "text"});
  EXPECT_NE(findings().find("type: "), std::string::npos);
  write(feed_url, {post("a", 1000), post("b", 1001), post("c", 1002), post("d", 1003)});
  EXPECT_EQ(deliver().refused, 1U) << "and delivery goes on";
  EXPECT_EQ(redis({"ZSCORE", "zchannel:news:posts", "Entry:4"}), "1003");
}

}  // namespace
}  // namespace feedmill::test::channel_index_test
