#include "storage/timelines/channels.hpp"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/queues/topics.hpp"
#include "storage/timelines/deliveries.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::channels_test {
namespace {

using Texts = std::vector<std::string>;

class ChannelsTest : public StoreTest {
 protected:
  void store_posts(const Texts& guids, std::int64_t first = 1000) {
    std::vector<EntryRecord> posts;
    for (const std::string& guid : guids) posts.push_back(post(guid, first++));
    refresh(posts);
  }
  void follow(const std::string& uid, const std::string& url = feed_url) {
    const Membership membership{uid, url};
    const auto done = channels.follow(std::span(&membership, 1));
    ASSERT_TRUE(done && done->front());
  }
  std::string timeline(const std::string& uid) { return redis({"ZRANGE", "zchannel:" + uid + ":posts", "0", "-1"}); }
  /// Applies all events in the stream.
  void deliver() {
    const auto records = EventStream(store).read("0", 100'000, Milliseconds(0));
    ASSERT_TRUE(records);
    std::vector<Event> read;
    for (const EventRecord& record : *records) read.push_back(*read_event(record));
    const auto done = Deliveries(store).apply(read);
    ASSERT_TRUE(done);
    EXPECT_FALSE(done->hole);
  }
  Texts keys() {
    Texts all;
    std::istringstream words(redis({"KEYS", "*"}));
    for (std::string word; words >> word;) all.push_back(word);
    std::sort(all.begin(), all.end());
    return all;
  }

  Channels channels{store};
};

TEST_F(ChannelsTest, KeepsChannelsInTheirOrder) {
  EXPECT_EQ(*channels.add(Texts{"news", "anna/news", "anna/work"}), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(*channels.add(Texts{"anna/work", "bob/news"}), (std::vector<bool>{false, true}));
  const auto uids = [this] {
    Texts all;
    for (const ChannelRecord& channel : *channels.list()) all.push_back(channel.uid);
    return all;
  };
  EXPECT_EQ(uids(), (Texts{"news", "anna/news", "anna/work", "bob/news"}));
  EXPECT_TRUE(channels.order(Texts{"bob/news", "gone", "anna/work", "anna/news", "news"}));
  EXPECT_EQ(uids(), (Texts{"bob/news", "anna/work", "anna/news", "news"}));
  EXPECT_EQ(redis({"GET", "channel_sortorder_anna/work"}), "2");
  EXPECT_EQ(redis({"EXISTS", "channel_sortorder_gone"}), "0");
}

TEST_F(ChannelsTest, FillsAChannelFromItsFeedsAndEmptiesItAgain) {
  add();
  store_posts({"a", "b", "c"});
  add("https://other.org/");
  ASSERT_TRUE(channels.add(Texts{"anna/news"}));
  follow("anna/news");
  follow("anna/news", "https://other.org/");
  EXPECT_EQ(timeline("anna/news"), "Entry:1 Entry:2 Entry:3");
  EXPECT_EQ(**channels.feeds("anna/news"), (Texts{feed_url, "https://other.org/"}));
  EXPECT_EQ(channels.list()->front().unread, 3U);
  EXPECT_EQ(channels.list()->front().feeds, 2U);
  EXPECT_EQ(*channels.holding(Texts{feed_url, "https://no.where/"}), (std::vector<Texts>{{"anna/news"}, {}}));
  EXPECT_EQ(channels.mark_read("anna/news", Texts{"Entry:2"})->value(), 1U);

  EXPECT_EQ(channels.unfollow({"anna/news", feed_url})->value(), true);
  EXPECT_EQ(timeline("anna/news"), "");
  EXPECT_EQ(redis({"EXISTS", "channel:anna/news:read"}), "0");
  EXPECT_EQ(channels.unfollow({"anna/news", feed_url})->value(), false);
  EXPECT_FALSE(channels.unfollow({"nobody", feed_url})->has_value());
  EXPECT_FALSE(channels.follow(std::vector<Membership>{{"nobody", feed_url}})->front());
}

TEST_F(ChannelsTest, PagesThroughATimelineOfEqualSeconds) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 12; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i / 6));
  refresh(posts);
  ASSERT_TRUE(channels.add(Texts{"news"}));
  follow("news");
  Texts seen;
  std::optional<EntryCursor> before;
  for (;;) {
    const auto page = channels.timeline("news", 5, before);
    ASSERT_TRUE(page && *page);
    for (const StoredEntry& entry : **page) seen.push_back(entry.id);
    if ((*page)->size() < 5) break;
    before = EntryCursor{std::stoll((*page)->back().get("timestamp")), (*page)->back().id};
  }
  EXPECT_EQ(seen.size(), 12U);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_FALSE(channels.timeline("nobody", 5)->has_value());
}

TEST_F(ChannelsTest, MarksTheOldestUpToAPositionOfAllFeedsOrOne) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 6; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i / 4));  // Entry:1 to Entry:6
  refresh(posts);
  add("https://other.org/");
  ASSERT_TRUE(channels.add(Texts{"news", "other"}));
  follow("news");
  follow("other", "https://other.org/");
  InParts whole;
  EXPECT_EQ(channels.mark_read_up_to("news", "1001:Entry:5", "https://other.org/", whole)->value(), 0U);
  EXPECT_EQ(channels.mark_read_up_to("other", "1001:Entry:5", feed_url, whole)->value(), 0U);
  EXPECT_EQ(channels.mark_read_up_to("news", "1000:Entry:2", "", whole)->value(), 2U);
  EXPECT_EQ(timeline("news"), "Entry:3 Entry:4 Entry:5 Entry:6");
  EXPECT_EQ(channels.mark_read_up_to("news", "1001:Entry:5", feed_url, whole)->value(), 3U);
  EXPECT_EQ(timeline("news"), "Entry:6");
  const auto unread = [&](const std::string& uid, Channels::Of which) {
    Texts ids;
    const auto found = channels.places_of({uid, feed_url}, which, 4);
    for (const EntryCursor& place : found->places) ids.push_back(place.id);
    return ids;
  };
  EXPECT_EQ(unread("news", Channels::Of::unread), Texts{"Entry:6"});
  EXPECT_EQ(unread("news", Channels::Of::all), (Texts{"Entry:6", "Entry:5", "Entry:4", "Entry:3"}));
  EXPECT_EQ(unread("other", Channels::Of::all), Texts{}) << "the channel does not contain the feed";
}

TEST_F(ChannelsTest, AReadPostLeavesTheTimelineAndComesBackOnlyWhenAsked) {
  add();
  store_posts({"a", "b", "c"});
  ASSERT_TRUE(channels.add(Texts{"news", "anna/news"}));
  follow("news");
  follow("anna/news");
  EXPECT_EQ(channels.mark_read("news", Texts{"Entry:1", "Entry:3", "Entry:1", "Entry:99", "ids:Entry"})->value(), 2U);
  EXPECT_EQ(timeline("news"), "Entry:2");
  EXPECT_EQ(timeline("anna/news"), "Entry:1 Entry:2 Entry:3") << "another user has read nothing";
  follow("news");
  deliver();
  EXPECT_EQ(timeline("news"), "Entry:2") << "neither back-filling nor a replay undoes a reader";
  EXPECT_EQ(channels.mark_unread("news", Texts{"Entry:1", "Entry:2"})->value(), 1U);
  EXPECT_EQ(timeline("news"), "Entry:1 Entry:2");
  EXPECT_EQ(channels.mark_all_read("news")->value(), 2U);
  EXPECT_EQ(timeline("news"), "");
  EXPECT_EQ(redis({"ZCARD", "channel:news:read"}), "3");
  EXPECT_FALSE(channels.mark_read("nobody", Texts{"Entry:1"})->has_value());
  EXPECT_FALSE(channels.mark_all_read("nobody")->has_value());
}

TEST_F(ChannelsTest, ForgetsAReadMarkOnlyLongAfterItsPostWent) {
  add();
  store_posts({"a", "b"});
  ASSERT_TRUE(channels.add(Texts{"news"}));
  follow("news");
  deliver();
  ASSERT_TRUE(channels.mark_all_read("news"));
  EXPECT_EQ(*channels.expire_marks(Milliseconds(-1)), 0U) << "the posts are there";
  const std::vector<EntryRecord> one{post("c", 1002)};
  Retention strict;
  strict.entries = 1;
  strict.strict = true;
  refresh(one, strict);
  deliver();
  EXPECT_EQ(timeline("news"), "Entry:3");
  EXPECT_EQ(redis({"ZCARD", "channel:news:read"}), "2");
  EXPECT_EQ(*channels.expire_marks(), 0U) << "less than 7 days ago";
  EXPECT_EQ(*channels.expire_marks(Milliseconds(-1)), 2U);
  EXPECT_EQ(redis({"EXISTS", "channel:news:read", "state:channels_gone"}), "0");
}

TEST_F(ChannelsTest, DeletingAChannelDeletesAllItsKeys) {
  add();
  store_posts({"a", "b", "c"});
  const Texts before = keys();
  // Hostile names: none may collide with another channel's keys or break out of an argument.
  const Texts names{"news",     "news:feeds", "of",      "anna/read", "a b\"c'\\", "{x}]]",
                    "..:posts", "*",          "Entry:1", "über/日本", "%s%n",      "a\xff"};
  ASSERT_TRUE(channels.add(names));
  for (const std::string& uid : names) follow(uid);
  for (const std::string& uid : names) {
    ASSERT_TRUE(channels.mark_read(uid, Texts{"Entry:1"}));
    ASSERT_TRUE(Notifications(store).watch({"anna", "", Watch::Kind::channel, uid}));
  }
  refresh({post("d", 2000)}, Retention{.entries = 1, .listed = 1, .strict = true});
  deliver();
  for (const std::string& uid : names) {
    EXPECT_EQ(timeline(uid), "Entry:4");
    EXPECT_TRUE(*channels.remove(uid));
    EXPECT_FALSE(*channels.remove(uid));
  }
  Texts after = keys();
  std::erase(after, "deliver:indexes:000");
  std::erase(after, "deliver:timelines:000");
  std::erase(after, "state:watch_version");
  Texts wanted = before;
  for (const char* gone : {"Entry:1", "Entry:2", "Entry:3"}) std::erase(wanted, gone);
  wanted.insert(wanted.end(), {"Entry:4", feed_url + ":tombs"});
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(after, wanted);
}

TEST_F(ChannelsTest, DeletingAChannelMayBeInterruptedAfterEachStep) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 700; ++i) feeds.push_back({.feed_url = "https://example.org/" + std::to_string(i)});
  ASSERT_TRUE(Feeds(store).add(feeds, "news"));
  for (const char* const user : {"anna", "bert"})
    ASSERT_TRUE(Notifications(store).watch({user, "", Watch::Kind::channel, "news"}));
  const Topic topic{TopicKind::channel, "news"};
  ASSERT_TRUE(Topics(store).share(topic));
  InParts parts;
  int calls = 0;
  bool removed = false;
  do {
    parts.ended_early = false;
    parts.go_on = [first = true]() mutable { return std::exchange(first, false); };
    const auto done = channels.remove("news", parts);
    ASSERT_TRUE(done) << done.error().detail;
    removed = *done;
    ++calls;
  } while (parts.ended_early && calls < 100);
  EXPECT_TRUE(removed);
  EXPECT_GE(calls, 3) << "700 feeds are more than one step";
  EXPECT_TRUE(Notifications(store).all_watches()->empty());
  EXPECT_FALSE(Topics(store).find(topic)->has_value());
  EXPECT_FALSE(*channels.is_known("news"));
  EXPECT_EQ(redis({"EXISTS", "channel:news:feeds"}), "0");
  EXPECT_FALSE(*channels.remove("news"));
}

TEST_F(ChannelsTest, ARemovedFeedLeavesItsChannels) {
  add();
  store_posts({"a", "b"});
  add("https://other.org/");
  ASSERT_TRUE(channels.add(Texts{"news"}));
  follow("news");
  follow("news", "https://other.org/");
  ASSERT_TRUE(Feeds(store).remove(feed_url));
  EXPECT_EQ(timeline("news"), "");
  EXPECT_EQ(**channels.feeds("news"), Texts{"https://other.org/"});
  deliver();
  EXPECT_EQ(timeline("news"), "") << "what the stream still tells of it brings nothing back";
}

TEST_F(ChannelsTest, RebuildsATimelineFromTheFeeds) {
  add();
  store_posts({"a", "b", "c"});
  ASSERT_TRUE(channels.add(Texts{"news"}));
  follow("news");
  ASSERT_TRUE(channels.mark_read("news", Texts{"Entry:3"}));
  redis({"ZADD", "zchannel:news:posts", "5", "Entry:77", "9", "Entry:1"});
  redis({"ZREM", "zchannel:news:posts", "Entry:2"});
  ASSERT_TRUE(channels.rebuild("news", [] { return true; }));
  EXPECT_EQ(redis({"ZRANGE", "zchannel:news:posts", "0", "-1", "WITHSCORES"}), "Entry:1 1000 Entry:2 1001");
}

TEST(ChannelNames, AreCheckedForWhatNoKeyShouldHold) {
  EXPECT_EQ(unfit_name("anna/news"), "");
  EXPECT_NE(unfit_name(""), "");
  EXPECT_NE(unfit_name(std::string(1025, 'x')), "");
  EXPECT_NE(unfit_name("a\nb"), "");
  EXPECT_NE(unfit_name(std::string_view("a\0b", 3)), "");
  EXPECT_EQ(unfit_name("\xff"), "") << "one of an older store is read and removed";
  EXPECT_EQ(unfit_text_name("\xff"), "it is not valid UTF-8");
  EXPECT_EQ(unfit_text_name("/"), "");
}

TEST(ChannelNames, AreWholeWhereTheyAreMade) {
  for (const char* const good : {"news", "anna/news", "anna/Tech/TCP/IP", "Nächste Woche/ü", "a//b", " a"}) {
    EXPECT_EQ(unfit_new_channel(good), "") << good;
  }
  for (const char* const bad : {"", " ", "/", "a/", "/a", "a/ ", " /a", "\xff", "a\nb", "https://a.example/f"}) {
    EXPECT_NE(unfit_new_channel(bad), "") << bad;
  }
  for (const char* const good : {"anna", "_operator", "anna@example.org", "topic:x"}) {
    EXPECT_EQ(unfit_new_user(good), "") << good;
  }
  for (const char* const bad : {"", " ", "a/b", "/", "\xff", "a\nb"}) EXPECT_NE(unfit_new_user(bad), "") << bad;
}

}  // namespace
}  // namespace feedmill::test::channels_test
