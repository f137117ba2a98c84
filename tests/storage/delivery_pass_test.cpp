// Delivery without subscribers: which events may be skipped, and which must be read (RELIABILITY L14).
#include <gtest/gtest.h>

#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::delivery_pass_test {
namespace {

using Texts = std::vector<std::string>;
using Answer = Passed::Answer;

class DeliveryPass : public StoreTest {
 protected:
  DeliveryPass() {
    add();
    EXPECT_TRUE(deliveries.join());
  }
  /// Writes new posts of the feed, in one refresh.
  void write(int posts = 1) {
    for (int i = 0; i < posts; ++i) listed.push_back(post("g" + std::to_string(listed.size()), 1'000));
    refresh(listed);
  }
  void write_event(const std::string& type) {
    listed.push_back(post("g" + std::to_string(listed.size()), 1'000));
    Commit commit = plan(claim_one(), listed);
    commit.events = {{type, "updated", "{}", ""}};
    send(commit);
  }
  Answer pass() {
    const auto passed = deliveries.pass();
    EXPECT_TRUE(passed) << passed.error().detail;
    records = passed->records;
    return passed->answer;
  }
  /// Reads and applies all records; returns their number.
  std::size_t read_all() {
    std::size_t all = 0;
    for (;;) {
      const auto some = deliveries.fresh(100);
      if (!some || some->empty()) return all;
      all += some->size();
      std::vector<Event> events;
      std::vector<NoticesOfRecord> notices;
      for (const EventRecord& record : *some) {
        events.push_back(read_event(record).value_or(Event{.id = record.id}));
        notices.push_back({record.id, events.back().prev, {}});
      }
      EXPECT_FALSE(deliveries.apply(events)->hole || deliveries.apply(notices)->hole);
      EXPECT_TRUE(deliveries.acknowledge(*some));
    }
  }
  std::string places() { return redis({"MGET", "deliver:timelines:000", "deliver:notices:000"}); }
  std::uint64_t lag() { return EventStream(store).figures()->groups.at(0).lag; }

  Channels channels{store};
  Notifications notifications{store};
  Deliveries deliveries{store};
  std::vector<EntryRecord> listed;
  std::uint64_t records = 0;
};

TEST_F(DeliveryPass, ReachesTheEndAndCountsSkippedRecords) {
  EXPECT_EQ(pass(), Answer::passed) << "nothing is there";
  write(3);
  EXPECT_EQ(lag(), 3U);
  EXPECT_EQ(pass(), Answer::passed);
  EXPECT_EQ(records, 3U);
  const std::string last = *EventStream(store).last_id();
  EXPECT_EQ(places(), last + " " + last);
  EXPECT_EQ(deliveries.place(DeliveryTarget::notices)->newest, last);
  EXPECT_EQ(lag(), 0U);
  EXPECT_EQ(read_all(), 0U);
  EXPECT_EQ(pass(), Answer::passed);
  EXPECT_EQ(records, 0U);
  write(2);
  EXPECT_EQ(lag(), 2U) << "the server can still tell how many are left";
  EXPECT_EQ(pass(), Answer::passed);
  EXPECT_EQ(records, 2U);
}

TEST_F(DeliveryPass, SeesEarlierSubscribers) {
  const auto subscribe = [this](int how) {
    if (how == 0) {
      ASSERT_TRUE(channels.add(Texts{"news"}));
    } else {
      ASSERT_TRUE(notifications.watch({"anna", "", Watch::Kind::feed, feed_url}));
    }
  };
  for (const int how : {0, 1}) {
    write(2);
    ASSERT_EQ(pass(), Answer::passed);
    write(3);
    subscribe(how);
    write(1);
    EXPECT_EQ(pass(), Answer::wanted);
    EXPECT_EQ(records, 0U);
    EXPECT_EQ(read_all(), 4U) << "all that was not passed over before";
    EXPECT_EQ(pass(), Answer::wanted) << "as long as they are there";
    if (how == 0) {
      ASSERT_TRUE(*channels.remove("news"));
    } else {
      ASSERT_EQ(*notifications.unwatch("anna", Texts{notifications.watches("anna")->front().id}), 1U);
    }
    write();
    EXPECT_EQ(pass(), Answer::passed);
    EXPECT_EQ(records, 1U);
  }
}

TEST_F(DeliveryPass, LeavesWhatOperatorsHearOfToBeRead) {
  for (const char* type : {"feed_failing", "feed_gone", "feed_recovered", "feed_moved", "feed_rekeyed", "feed_gap"}) {
    write_event(type);
    write();
    EXPECT_EQ(pass(), Answer::unread) << type;
    EXPECT_GE(read_all(), 3U);
    write();
    EXPECT_EQ(pass(), Answer::passed) << "after " << type;
    EXPECT_EQ(records, 1U);
  }
  for (const char* type : {"feed_created", "feed_modified", "feed_mended", "feed_removed"}) {
    write_event(type);
    EXPECT_EQ(pass(), Answer::passed) << type;
  }
}

TEST_F(DeliveryPass, LeavesWhatAnotherWasHandedAndHasNotAcknowledged) {
  write(3);
  const auto handed_out = deliveries.fresh(1);
  ASSERT_EQ(handed_out->size(), 1U);
  const std::string before = places();
  EXPECT_EQ(pass(), Answer::unread);
  EXPECT_EQ(places(), before);
  ASSERT_TRUE(deliveries.acknowledge(*handed_out));
  EXPECT_EQ(pass(), Answer::unread) << "acknowledged, but never applied";
  const std::vector<Event> events{*read_event(handed_out->front())};
  const std::vector<NoticesOfRecord> notices{{events[0].id, events[0].prev, {}}};
  EXPECT_EQ(deliveries.apply(events)->applied, 1U);
  EXPECT_EQ(pass(), Answer::unread) << "notices have not come as far";
  EXPECT_EQ(deliveries.apply(notices)->applied, 1U);
  EXPECT_EQ(pass(), Answer::passed);
  EXPECT_EQ(records, 2U);
}

TEST_F(DeliveryPass, LeavesForeignRecordsToBeRead) {
  write();
  redis({"XADD", "stream:signals", "*", "type", "whatever", "json", "{}"});
  EXPECT_EQ(pass(), Answer::unread);
  write();
  EXPECT_EQ(pass(), Answer::unread) << "it stands before one of ours now";
  EXPECT_EQ(read_all(), 3U);
  write();
  EXPECT_EQ(pass(), Answer::passed);
}

// A worker of an older version records the last event, but not whether any event concerns operators.
TEST_F(DeliveryPass, TrustsNoRecordThatIsNotNoted) {
  write();
  const std::string next = std::to_string(std::stoll(*EventStream(store).last_id()) + 1) + "-1";
  redis({"XADD", "stream:signals", next, "type", "feed_gone", "json", R"({"type":"feed_gone"})"});
  redis({"HSET", "meta:store", "last_signal", next});
  EXPECT_EQ(pass(), Answer::unread);
  while (store.now()->count() <= std::stoll(next)) {
  }
  write();
  EXPECT_EQ(pass(), Answer::unread);
  EXPECT_EQ(read_all(), 3U);
  // The same if the record itself was lost.
  redis({"HDEL", "meta:store", "quiet"});
  EXPECT_EQ(pass(), Answer::passed) << "nothing is left";
  write();
  EXPECT_EQ(pass(), Answer::passed) << "it begins where the last one ended";
  write();
  redis({"HDEL", "meta:store", "quiet"});
  EXPECT_EQ(pass(), Answer::unread);
}

TEST_F(DeliveryPass, NeedsNoRecordThatWasTrimmedAway) {
  write(5);
  redis({"XTRIM", "stream:signals", "MAXLEN", "2"});
  EXPECT_EQ(pass(), Answer::passed);
  write(5);
  redis({"XTRIM", "stream:signals", "MAXLEN", "0"});
  EXPECT_EQ(pass(), Answer::passed);
  EXPECT_FALSE(deliveries.place(DeliveryTarget::timelines)->behind);
  EXPECT_FALSE(deliveries.place(DeliveryTarget::notices)->behind);
  write_event("feed_gone");
  redis({"XTRIM", "stream:signals", "MAXLEN", "0"});
  EXPECT_EQ(pass(), Answer::unread) << "somebody missed something, which must be said";
}

TEST_F(DeliveryPass, WithoutAGroupThereIsNothingToMove) {
  redis({"XGROUP", "DESTROY", "stream:signals", "delivery"});
  write();
  EXPECT_EQ(pass(), Answer::unread);
  redis({"DEL", "stream:signals"});
  EXPECT_EQ(pass(), Answer::unread);
}

}  // namespace
}  // namespace feedmill::test::delivery_pass_test
