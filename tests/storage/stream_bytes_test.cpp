// signals.max_bytes (RELIABILITY L13).
#include "storage/events/event_stream.hpp"
#include "storage/timelines/deliveries.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::stream_bytes_test {
namespace {

constexpr std::uint64_t cap = 1U << 20U;

class StreamBytes : public StoreTest {
 protected:
  StreamBytes() { add(); }

  /// Writes new posts with titles of this size, and one event each.
  void write(Store& by, int count, std::size_t title = 8'000) {
    std::vector<EntryRecord> posts;
    for (int i = 0; i < count; ++i, ++written) {
      posts.push_back(post("g" + std::to_string(written), 1000 + written, std::string(title, 'x')));
    }
    Commit commit = plan(claim_one(), posts, Retention{.entries = 100'000, .hard_cap = 100'000});
    const Commit* const one = &commit;
    ASSERT_TRUE(Ingest(by).commit(std::span(&one, 1)).front());
  }
  std::uint64_t bytes_in_stream() {
    std::uint64_t bytes = 0;
    const auto records = EventStream(store).read("0", 1'000'000, Milliseconds(0));
    EXPECT_TRUE(records);
    for (const EventRecord& record : *records) bytes += record.json.size();
    return bytes;
  }
  StoreOptions capped() { return StoreOptions{.url = server.url(), .signals_max_bytes = cap}; }

  int written = 0;
};

TEST_F(StreamBytes, AreBoundedUpToTheSlowestGroupAndAlwaysAtTwiceTheCap) {
  Store bound(capped());
  Deliveries deliveries(bound);
  ASSERT_TRUE(deliveries.join());
  redis({"XGROUP", "CREATE", "stream:signals", "slow", "0"});
  write(bound, 190);
  ASSERT_TRUE(EventStream(bound).trim());
  EXPECT_GT(bytes_in_stream(), 190 * 8'000U) << "over the cap, but nobody has read anything";
  for (int i = 0; i < 10; ++i) write(bound, 50);
  // Above the limit by the output of one commit, and by up to two 32nds.
  EXPECT_LE(bytes_in_stream(), 2 * cap + cap / 16 + 50 * 8'500UL);
  EXPECT_GT(bytes_in_stream(), 2 * cap - cap / 8);
  redis({"XGROUP", "SETID", "stream:signals", "slow", "$"});
  for (auto records = deliveries.fresh(100); records && !records->empty(); records = deliveries.fresh(100)) {
    ASSERT_TRUE(deliveries.acknowledge(*records));
  }
  ASSERT_TRUE(EventStream(bound).trim());
  EXPECT_LE(bytes_in_stream(), cap + cap / 16);
  EXPECT_GT(bytes_in_stream(), cap - cap / 8) << "what it may hold it holds";
  EXPECT_LE(std::stoul(redis({"LLEN", "state:signals_places"})), 66U);
}

TEST_F(StreamBytes, AreNotCountedWithoutACap) {
  write(store, 300);
  EXPECT_EQ(redis({"EXISTS", "state:signals_places"}), "0");
  EXPECT_EQ(redis({"HEXISTS", "meta:store", "bytes"}), "0");
  EXPECT_GT(bytes_in_stream(), 2 * cap);
}

TEST_F(StreamBytes, AreBoundSoonAfterACapIsSetOnALongStream) {
  write(store, 500);
  Store bound(capped());
  for (int i = 0; i < 8; ++i) write(bound, 50);
  EXPECT_LE(bytes_in_stream(), 2 * cap + cap / 16 + 50 * 8'500UL);
}

TEST_F(StreamBytes, AreBoundWhateverBecameOfTheNotes) {
  Store bound(capped());
  write(bound, 100);
  redis({"HSET", "meta:store", "bytes", "no number"});
  redis({"LPUSH", "state:signals_places", "rubbish"});
  redis({"RPUSH", "state:signals_places", "9-9 99999999999"});
  for (int i = 0; i < 10; ++i) write(bound, 50);
  EXPECT_LE(bytes_in_stream(), 2 * cap + cap / 16 + 50 * 8'500UL);
  redis({"DEL", "state:signals_places"});
  redis({"SET", "state:signals_places", "of another type"});
  const auto before = std::stoul(redis({"XLEN", "stream:signals"}));
  write(bound, 50);
  EXPECT_EQ(std::stoul(redis({"XLEN", "stream:signals"})), before + 50) << "the commit is whole";
}

TEST_F(StreamBytes, OfOneHugeRecordAreKeptUntilMoreComes) {
  Store bound(capped());
  write(bound, 1, 3U << 20U);
  EXPECT_EQ(redis({"XLEN", "stream:signals"}), "1");
  write(bound, 1);
  EXPECT_EQ(redis({"XLEN", "stream:signals"}), "2");
  for (int i = 0; i < 10; ++i) write(bound, 50);
  EXPECT_LE(bytes_in_stream(), 2 * cap + cap / 16 + 50 * 8'500UL);
}

}  // namespace
}  // namespace feedmill::test::stream_bytes_test
