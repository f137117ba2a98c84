// A store that contains some of everything, for tests of operations on whole stores.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/deliveries.hpp"
#include "storage/timelines/notifications.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test {

using Texts = std::vector<std::string>;

inline const std::string admin = "feedmill_admin";
inline const std::string other = "https://other.org/feed", resting = "https://resting.org/feed";

class FilledStoreTest : public StoreTest {
 protected:
  /// Variations between tests.
  struct Filling {
    std::string title = "t";  ///< title of e in the second document
    Texts channels{"news"};
    std::vector<Membership> memberships{{"news", feed_url}};
  };

  FilledStoreTest() : StoreTest(admin) {}

  /// After this, feed_url has Entry:2 (d), Entry:3 (e) and Entry:4 (f), with tombstones for a, b and c; `other` has
  /// Entry:5 (x) and Entry:6 (y); `resting` is paused. In channel news Entry:2 is read; anna has a rule and two
  /// notices.
  void fill(const Filling& filling) {
    add();
    Retention three;
    three.entries = 3;
    three.strict = true;
    refresh({post("a", 1000), post("b", 1001), post("c", 1002), post("d", 1003), post("e", 1004)}, three);
    refresh({post("b", 1001), post("c", 1002), post("d", 1003), post("e", 1004, filling.title), post("f", 1005)},
            three);
    add(other);
    add(resting);
    redis({"ZADD", "schedule", "XX", "1", other});
    for (const Claim& claimed : claim().claims) {
      send(plan(claimed, claimed.feed_url == other ? std::vector{post("x", 2000), post("y", 2001)}
                                                   : std::vector<EntryRecord>()));
    }
    ASSERT_TRUE(Feeds(store).pause(std::vector{resting}));
    Channels channels(store);
    ASSERT_TRUE(channels.add(filling.channels));
    ASSERT_TRUE(channels.follow(filling.memberships));
    deliver(store);
    const Texts read{"Entry:2"};
    ASSERT_TRUE(channels.mark_read("news", read));
    Notifications notifications(store);
    ASSERT_TRUE(notifications.watch({"anna", "", Watch::Kind::feed, other}));
    ASSERT_TRUE(
        notifications.add(std::vector<Notice>{{"anna", "1", R"({"text":"one"})"}, {"anna", "2", R"({"text":"two"})"}}));
  }

  /// Applies all events in the stream.
  static void deliver(Store& where) {
    const auto records = EventStream(where).read("0", 100'000, Milliseconds(0));
    ASSERT_TRUE(records);
    std::vector<Event> read;
    for (const EventRecord& record : *records) read.push_back(*read_event(record));
    if (!read.empty()) {
      ASSERT_TRUE(Deliveries(where).apply(read));
    }
  }
};

}  // namespace feedmill::test
