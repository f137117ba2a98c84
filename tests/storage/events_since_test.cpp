// Events after a position in the stream: all of them, or an error (OPERATIONS A4).
#include "storage/events/event_stream.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::events_since_test {
namespace {

class EventsSince : public StoreTest {
 protected:
  /// The ids after `after`, separated by spaces; "gone OLDEST" if some events were trimmed.
  std::string since(const std::string& after, std::size_t limit = 10) {
    const auto found = EventStream(store).since(after, limit);
    EXPECT_TRUE(found);
    if (!found->records) return "gone " + found->oldest;
    std::string ids;
    for (const EventRecord& record : *found->records) ids += (ids.empty() ? "" : " ") + record.id;
    return ids;
  }
  void write(const std::string& seq, const std::string& prev) {
    redis({"XADD", "stream:signals", seq, "type", "x", "json",
           R"({"v":1,"seq":")" + seq + R"(","prev":")" + prev + "\"}"});
    redis({"HSET", "meta:store", "last_signal", seq});
  }
};

TEST_F(EventsSince, AreWholeOrAnError) {
  EXPECT_EQ(since(""), "");
  EXPECT_EQ(since("0-0"), "");
  EXPECT_EQ(since("9-9"), "gone 0-0") << "of a store that was there before";
  EXPECT_EQ(*EventStream(store).last_seq(), "0-0");
  write("5-1", "0-0");
  write("7-1", "5-1");
  write("7-2", "7-1");
  write("9-1", "7-2");
  EXPECT_EQ(since(""), "5-1 7-1 7-2 9-1");
  EXPECT_EQ(since("0-0"), "5-1 7-1 7-2 9-1");
  EXPECT_EQ(since("0-0", 2), "5-1 7-1");
  EXPECT_EQ(since("5-1"), "7-1 7-2 9-1");
  EXPECT_EQ(since("1-1"), "5-1 7-1 7-2 9-1") << "nothing was before the first";
  EXPECT_EQ(since("9-1"), "");
  EXPECT_EQ(since("10-0"), "gone 5-1") << "the store was put back";
  redis({"XTRIM", "stream:signals", "MAXLEN", "2"});
  EXPECT_EQ(since(""), "7-2 9-1") << "all that there are";
  EXPECT_EQ(since("0-0"), "gone 7-2") << "who began before the first has missed some";
  EXPECT_EQ(since("7-1"), "7-2 9-1") << "nothing behind it was trimmed";
  EXPECT_EQ(since("7-2"), "9-1");
  EXPECT_EQ(since("5-1"), "gone 7-2");
  EXPECT_EQ(since("7-0"), "gone 7-2");
  redis({"XTRIM", "stream:signals", "MAXLEN", "0"});
  EXPECT_EQ(since("7-2"), "gone 9-1") << "the last that was written";
  EXPECT_EQ(*EventStream(store).last_seq(), "9-1") << "whoever begins now has missed none";
  EXPECT_EQ(since("9-1"), "");
  write("11-1", "9-1");
  EXPECT_EQ(since("9-1"), "11-1");
  EXPECT_EQ(since("7-2"), "gone 11-1");
}

}  // namespace
}  // namespace feedmill::test::events_since_test
