#include "storage/timelines/deliveries.hpp"

#include <gtest/gtest.h>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/redis/redis.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::deliveries_test {
namespace {

using Texts = std::vector<std::string>;

class DeliveriesTest : public StoreTest {
 protected:
  DeliveriesTest() {
    add();
    EXPECT_TRUE(channels.add(Texts{"news", "anna/news"}));
    EXPECT_TRUE(channels.follow(std::vector<Membership>{{"news", feed_url}, {"anna/news", feed_url}}));
    EXPECT_TRUE(deliveries.join());
  }
  static std::vector<Event> read(const std::vector<EventRecord>& records) {
    std::vector<Event> all;
    for (const EventRecord& record : records) all.push_back(*read_event(record));
    return all;
  }
  std::vector<EventRecord> fresh(std::size_t count = 1000) {
    const auto records = deliveries.fresh(count);
    EXPECT_TRUE(records);
    return *records;
  }
  Delivered apply(const std::vector<EventRecord>& records) {
    const auto done = deliveries.apply(read(records));
    EXPECT_TRUE(done);
    return *done;
  }
  std::string timeline(const std::string& uid = "news") {
    return redis({"ZRANGE", "zchannel:" + uid + ":posts", "0", "-1", "WITHSCORES"});
  }

  Channels channels{store};
  Deliveries deliveries{store};
};

TEST_F(DeliveriesTest, TimelinesFollowTheSignals) {
  refresh({post("a", 1000), post("b", 1001)});
  const Delivered first = apply(fresh());
  EXPECT_EQ(first.applied, 2U);
  EXPECT_EQ(timeline(), "Entry:1 1000 Entry:2 1001");
  refresh({post("a", 1500, "edited"), post("b", 1001)});
  apply(fresh());
  EXPECT_EQ(timeline(), "Entry:2 1001 Entry:1 1500");
  refresh({post("c", 1600)}, Retention{.entries = 1, .listed = 1, .strict = true});
  const Delivered last = apply(fresh());
  EXPECT_EQ(last.applied, 3U);
  EXPECT_EQ(timeline(), "Entry:3 1600");
  EXPECT_EQ(timeline("anna/news"), timeline());
  EXPECT_EQ(deliveries.place(DeliveryTarget::timelines)->last, last.last);
  EXPECT_EQ(deliveries.place(DeliveryTarget::timelines)->newest, last.last);
}

TEST_F(DeliveriesTest, AReplayChangesNothing) {
  refresh({post("a", 1000), post("b", 1001)});
  refresh({post("a", 1500, "edited"), post("b", 1001)});
  const auto records = fresh();
  EXPECT_EQ(apply(records).applied, 3U);
  ASSERT_TRUE(channels.mark_read("news", Texts{"Entry:2"}));
  const std::string before = timeline();
  const Delivered again = apply(records);
  EXPECT_EQ(again.applied, 0U);
  EXPECT_EQ(again.repeated, 3U);
  EXPECT_EQ(timeline(), before);
  // A delivery that lost its position repeats all records, without undoing anything that readers did.
  redis({"DEL", "deliver:timelines:000"});
  EXPECT_EQ(apply(records).applied, 3U);
  EXPECT_EQ(timeline(), before);
}

TEST_F(DeliveriesTest, UnacknowledgedRecordsAreReadAgainFirst) {
  refresh({post("a", 1000), post("b", 1001), post("c", 1002)});
  const auto some = fresh(2);
  ASSERT_EQ(some.size(), 2U);
  auto again = deliveries.pending(10);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), 2U);
  EXPECT_EQ((*again)[0].id, some[0].id);
  ASSERT_TRUE(deliveries.acknowledge(*again));
  EXPECT_TRUE(deliveries.pending(10)->empty());
  EXPECT_EQ(fresh().size(), 1U);
}

TEST_F(DeliveriesTest, StopsAtAHole) {
  refresh({post("a", 1000), post("b", 1001), post("c", 1002)});
  const auto records = fresh();
  const Delivered first = apply({records[0]});
  const Delivered hole = apply({records[2]});
  EXPECT_TRUE(hole.hole);
  EXPECT_EQ(hole.applied, 0U);
  EXPECT_EQ(hole.last, first.last);
  EXPECT_EQ(timeline(), "Entry:1 1000");
  const std::vector<NoticesOfRecord> late{{records[2].id, read(records)[2].prev, {{"anna", "1", R"({"a":1})"}}}};
  EXPECT_TRUE(deliveries.apply(late)->hole);
  EXPECT_EQ(redis({"EXISTS", "list:notification:user_id:anna"}), "0");
}

TEST_F(DeliveriesTest, GivesANoticeOnceHoweverOftenItsRecordComes) {
  refresh({post("a", 1000)});
  const auto records = fresh();
  const std::vector<NoticesOfRecord> batch{
      {records[0].id, "0-0", {{"anna", records[0].id, R"({"a":1})"}, {"bob", records[0].id, R"({"a":1})"}}}};
  EXPECT_EQ(deliveries.apply(batch)->applied, 1U);
  ASSERT_TRUE(Notifications(store).remove("anna"));
  EXPECT_EQ(deliveries.apply(batch)->repeated, 1U);
  EXPECT_TRUE(Notifications(store).list("anna")->empty()) << "a replay must not bring back what a user deleted";
  EXPECT_EQ(Notifications(store).list("bob")->front().json, R"({"read":false,"a":1})");
}

TEST_F(DeliveriesTest, OneSpoiltChannelDoesNotStopTheOthers) {
  redis({"SET", "zchannel:news:posts", "spoilt"});
  refresh({post("a", 1000)});
  const Delivered done = apply(fresh());
  EXPECT_EQ(done.applied, 1U);
  EXPECT_EQ(done.refused, 1U);
  EXPECT_EQ(timeline("anna/news"), "Entry:1 1000");
}

TEST_F(DeliveriesTest, NoticesThatUnreadRecordsWereTrimmed) {
  refresh({post("a", 1000), post("b", 1001), post("c", 1002)});
  EXPECT_FALSE(deliveries.place(DeliveryTarget::timelines)->behind);
  const auto records = fresh();
  redis({"XTRIM", "stream:signals", "MAXLEN", "1"});
  const auto place = deliveries.place(DeliveryTarget::timelines);
  EXPECT_TRUE(place->behind);
  EXPECT_EQ(place->resume, records[1].id);
  redis({"XTRIM", "stream:signals", "MAXLEN", "0"});
  EXPECT_EQ(deliveries.place(DeliveryTarget::timelines)->resume, records[2].id);
  ASSERT_TRUE(deliveries.skip_to(DeliveryTarget::timelines, records[1].id));
  ASSERT_TRUE(deliveries.skip_to(DeliveryTarget::timelines, records[0].id));
  EXPECT_EQ(deliveries.place(DeliveryTarget::timelines)->last, records[1].id) << "never back";
  ASSERT_TRUE(deliveries.skip_to(DeliveryTarget::notices, records[2].id));
  EXPECT_FALSE(deliveries.place(DeliveryTarget::notices)->behind);
}

TEST_F(DeliveriesTest, TheRightToDeliverIsOnesOwn) {
  const Milliseconds ttl(30'000);
  EXPECT_TRUE(*deliveries.hold("one", ttl));
  EXPECT_FALSE(*deliveries.hold("two", ttl));
  EXPECT_TRUE(*deliveries.hold("one", ttl));
  ASSERT_TRUE(deliveries.let_go("two"));
  EXPECT_EQ(redis({"GET", "lock:delivery:000"}), "one");
  EXPECT_GT(std::stoi(redis({"PTTL", "lock:delivery:000"})), 0);
  ASSERT_TRUE(deliveries.let_go("one"));
  EXPECT_TRUE(*deliveries.hold("two", ttl));
}

TEST_F(DeliveriesTest, HeartbeatExtendsTheRightToDeliver) {
  const auto left = [&] { return std::stoi(redis({"PTTL", "lock:delivery:000"})); };
  EXPECT_TRUE(*deliveries.hold("one", Milliseconds(5'000)));
  ASSERT_TRUE(Fleet(store).heartbeat("two", {}, Milliseconds(60'000)));
  EXPECT_LE(left(), 5'000);
  ASSERT_TRUE(Fleet(store).heartbeat("one", {{"pid", "1"}}, Milliseconds(60'000)));
  EXPECT_GT(left(), 50'000);
  ASSERT_TRUE(Fleet(store).heartbeat("one", {{"pid", "1"}}, Milliseconds(20'000)));
  EXPECT_GT(left(), 50'000) << "it never takes any of it";
  ASSERT_TRUE(deliveries.let_go("one"));
  ASSERT_TRUE(Fleet(store).heartbeat("one", {{"pid", "1"}}, Milliseconds(60'000)));
  EXPECT_TRUE(*deliveries.hold("two", Milliseconds(5'000))) << "it gives none";
}

TEST_F(DeliveriesTest, PublishesPerFeedEachRecordOnce) {
  refresh({post("a", 1000)});
  Redis listener(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(listener.command({"SUBSCRIBE", "post_created:" + feed_url}));
  const auto records = fresh();
  EXPECT_EQ(deliveries.apply(read(records), records)->applied, 1U);
  EXPECT_EQ(deliveries.apply(read(records), records)->repeated, 1U);
  const auto message = listener.next();
  ASSERT_TRUE(message);
  EXPECT_EQ((*message)[2].text(), records[0].json);
  redis({"PUBLISH", "post_created:" + feed_url, "end"});
  EXPECT_EQ((*listener.next())[2].text(), "end") << "nothing between";
}

TEST_F(DeliveriesTest, StreamIsTrimmedUpToTheSlowestGroupAndAlwaysAtTheHardLimit) {
  Store small(StoreOptions{.url = server.url(), .signals_max_len = 200});
  const auto length = [this] { return std::stoul(redis({"XLEN", "stream:signals"})); };
  const auto write = [&](int from, int count) {
    std::vector<EntryRecord> posts;
    for (int i = from; i < from + count; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
    Commit commit = plan(claim_one(), posts, Retention{.entries = 10'000, .hard_cap = 10'000});
    const Commit* const one = &commit;
    ASSERT_TRUE(Ingest(small).commit(std::span(&one, 1)).front());
  };
  redis({"XGROUP", "CREATE", "stream:signals", "slow", "0"});
  for (int i = 0; i < 3; ++i) write(i * 100, 100);
  ASSERT_TRUE(deliveries.acknowledge(fresh()));
  ASSERT_TRUE(EventStream(small).trim());
  EXPECT_EQ(length(), 300U) << "over the cap, but the slow group has read nothing";
  const auto figures = EventStream(small).figures();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->hard_limit, 400U);
  ASSERT_EQ(figures->groups.size(), 2U);
  EXPECT_EQ(figures->groups[0].name, "delivery");
  EXPECT_EQ(figures->groups[0].lag, 0U);
  EXPECT_FALSE(figures->groups[0].oldest);
  EXPECT_EQ(figures->groups[1].lag, 300U);
  EXPECT_TRUE(figures->groups[1].oldest);
  redis({"XREADGROUP", "GROUP", "slow", "c", "COUNT", "150", "STREAMS", "stream:signals", ">"});
  EXPECT_EQ(EventStream(small).figures()->groups[1].lag, 300U) << "read is not acknowledged";
  ASSERT_TRUE(EventStream(small).trim());
  EXPECT_EQ(length(), 300U);
  redis({"XGROUP", "SETID", "stream:signals", "slow", "$"});
  redis({"XGROUP", "DELCONSUMER", "stream:signals", "slow", "c"});
  ASSERT_TRUE(EventStream(small).trim());
  EXPECT_LT(length(), 300U);
  EXPECT_GE(length(), 200U) << "the cap is what stays";
  redis({"XGROUP", "SETID", "stream:signals", "slow", "0"});
  for (int i = 3; i < 9; ++i) write(i * 100, 100);
  EXPECT_LE(length(), 600U) << "whoever lags";
  EXPECT_GE(length(), 400U);
}

TEST_F(DeliveriesTest, ForeignRecordsAreNotEvents) {
  EXPECT_FALSE(read_event({"1-1", "post_created", "no JSON"}));
  EXPECT_FALSE(read_event({"1-1", "post_created", "[]"}));
  EXPECT_FALSE(read_event({"1-1", "post_created", R"({"type":"post_created","entity_id":7})"}));
  EXPECT_FALSE(read_event({"1-1", "", ""}));
}

// SECURITY §10: the published user's permissions are sufficient for all of this.
TEST_F(DeliveriesTest, NeedsNoCommandBeyondThePublishedOnes) {
  refresh({post("a", 1000), post("b", 1001)});
  std::istringstream rules(
      "resetkeys ~* resetchannels &post_* &feed_* -@all +eval +evalsha +script|load +time +type +exists +hget +hmget "
      "+hgetall +hset +hdel +hincrby +hlen +incr +zadd +zrem +zscore +zcard +zrange +zrevrange +zrangebyscore "
      "+zremrangebyrank +zremrangebyscore +del +unlink +pexpire +xadd +xlen +xtrim +xrange +xrevrange +xread "
      "+xgroup|create +xgroup|setid +xreadgroup +xautoclaim +xpending +xack +xinfo|groups +xinfo|stream +subscribe "
      "+lpush +lrem "
      "+ltrim +lrange +llen +sadd +srem +sismember +smembers +scard +get +set +publish +wait +ping +hello +auth "
      "+select +info +client|setname +cluster|shards +cluster|slots +asking");
  Texts words{"ACL", "SETUSER", "default"};
  for (std::string word; rules >> word;) words.push_back(word);
  ASSERT_EQ(redis(words), "OK");
  Store limited(StoreOptions{.url = server.url()});
  ASSERT_TRUE(limited.open());
  Channels own(limited);
  Deliveries group(limited);
  Notifications notices(limited);
  EXPECT_TRUE(*group.hold("me", Milliseconds(1000)));
  EXPECT_TRUE(group.join());
  const auto records = group.fresh(100);
  ASSERT_TRUE(records);
  EXPECT_EQ(group.apply(read(*records), *records)->refused, 0U);
  const std::vector<NoticesOfRecord> one{{records->back().id, "", {{"anna", "1", R"({"a":1})"}}}};
  for (int i = 0; i < 31; ++i) EXPECT_TRUE(notices.add(std::vector<Notice>{{"anna", std::to_string(i), R"({"a":1})"}}));
  EXPECT_TRUE(group.apply(one));
  EXPECT_TRUE(group.pending(10));
  EXPECT_TRUE(group.acknowledge(*records));
  EXPECT_TRUE(group.place(DeliveryTarget::notices));
  EXPECT_TRUE(group.skip_to(DeliveryTarget::notices, records->back().id));
  EXPECT_TRUE(EventStream(limited).trim());
  EXPECT_TRUE(own.add(Texts{"bob/x"}));
  EXPECT_TRUE(own.follow(std::vector<Membership>{{"bob/x", feed_url}}));
  EXPECT_EQ(own.mark_read("bob/x", Texts{"Entry:1"})->value(), 1U);
  EXPECT_EQ(own.mark_unread("bob/x", Texts{"Entry:1"})->value(), 1U);
  EXPECT_EQ(own.mark_all_read("bob/x")->value(), 2U);
  EXPECT_TRUE(own.timeline("bob/x", 5, EntryCursor{1, "Entry:1"}));
  EXPECT_TRUE(own.rebuild("bob/x", [] { return true; }));
  EXPECT_TRUE(own.order(Texts{"bob/x"}));
  EXPECT_TRUE(own.list() && own.feeds("bob/x") && own.expire_marks(Milliseconds(-1)));
  EXPECT_TRUE(own.unfollow({"bob/x", feed_url}));
  EXPECT_TRUE(notices.watch({"anna", "", Watch::Kind::channel, "bob/x"}));
  EXPECT_TRUE(notices.watch_version());
  EXPECT_TRUE(*own.remove("bob/x"));
  EXPECT_TRUE(notices.mark_read("anna") && notices.list("anna") && notices.remove("anna"));
  EXPECT_TRUE(group.let_go("me"));
}

}  // namespace
}  // namespace feedmill::test::deliveries_test
