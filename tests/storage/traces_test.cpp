// Refreshes traced by a `feedmill trace` client.
#include "storage/events/traces.hpp"

#include "storage/feeds/feeds.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::traces_test {
namespace {

using namespace std::chrono_literals;

class TracesTest : public StoreTest {
 protected:
  std::vector<TraceRecord> read(const std::string& after = "0-0") {
    const auto records = traces.read(feed_url, after, 100, Milliseconds(1));
    EXPECT_TRUE(records) << records.error().detail;
    return records ? *records : std::vector<TraceRecord>();
  }
  Traces traces{store};
};

TEST_F(TracesTest, AMarkComesWithTheClaimAndOutlivesTheCommit) {
  add();
  EXPECT_EQ(claim_one().state.trace_until.count(), 0);
  const Milliseconds before = *store.now();
  const auto until = traces.follow(feed_url, 10min);
  ASSERT_TRUE(until);
  ASSERT_TRUE(*until);
  EXPECT_GE(**until, before + 10min);
  const auto shorter = traces.follow(feed_url, 1s);
  ASSERT_TRUE(shorter);
  EXPECT_LT(**shorter, **until);
  EXPECT_EQ(claim_one().state.trace_until, **until) << "another who follows it may have longer";
  redis({"HDEL", "state:feed:" + feed_url, "claim"});
  refresh({post("a", 1)});
  EXPECT_EQ(claim_one().state.trace_until, **until);
}

TEST_F(TracesTest, LeavingFollowerRemovesTheMarkUnlessAnotherNeedsItLonger) {
  add();
  const auto mark = [&] { return redis({"HGET", "state:feed:" + feed_url, "trace_until"}); };
  const auto first = traces.follow(feed_url, 1min), second = traces.follow(feed_url, 10min);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(traces.append(feed_url, std::vector<TraceLine>{{0, "claim", "first"}}));
  ASSERT_TRUE(traces.leave(feed_url, **first));
  EXPECT_EQ(mark(), std::to_string((*second)->count()));
  EXPECT_GT(std::stoll(redis({"PTTL", "state:trace:" + feed_url})), 60'000) << "it is still read";
  ASSERT_TRUE(traces.leave(feed_url, **second));
  EXPECT_EQ(mark(), "(nil)");
  EXPECT_LE(std::stoll(redis({"PTTL", "state:trace:" + feed_url})), 2'000);
  ASSERT_TRUE(traces.leave(feed_url, **second)) << "nothing is left to take";
  ASSERT_TRUE(traces.leave("https://example.org/none", **second));
  EXPECT_EQ(redis({"EXISTS", "state:feed:https://example.org/none"}), "0");
}

TEST_F(TracesTest, NoFeedIsMadeUp) {
  const auto until = traces.follow("https://example.org/none", 10min);
  ASSERT_TRUE(until);
  EXPECT_FALSE(*until);
  EXPECT_EQ(redis({"EXISTS", "state:feed:https://example.org/none"}), "0");
}

TEST_F(TracesTest, LinesComeBackInOrderAndGoByThemselves) {
  add();
  EXPECT_EQ(*traces.last(feed_url), "0-0");
  ASSERT_TRUE(traces.append(feed_url, {}));
  EXPECT_TRUE(read().empty());
  ASSERT_TRUE(traces.append(feed_url, std::vector<TraceLine>{{0, "claim", "first"}, {17, "end", "updated"}}));
  const auto lines = read();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].line.ms, 0);
  EXPECT_EQ(lines[0].line.step, "claim");
  EXPECT_EQ(lines[1].line.ms, 17);
  EXPECT_EQ(lines[1].line.text, "updated");
  EXPECT_EQ(*traces.last(feed_url), lines[1].id);
  ASSERT_TRUE(traces.append(feed_url, std::vector<TraceLine>{{1, "claim", "next"}}));
  ASSERT_EQ(read(lines[1].id).size(), 1U);
  EXPECT_GT(std::stoll(redis({"PTTL", "state:trace:" + feed_url})), 0);
}

TEST_F(TracesTest, GoWithTheirFeed) {
  add();
  ASSERT_TRUE(traces.append(feed_url, std::vector<TraceLine>{{0, "claim", "first"}}));
  ASSERT_TRUE(Feeds(store).remove(feed_url));
  EXPECT_EQ(redis({"EXISTS", "state:trace:" + feed_url}), "0");
}

}  // namespace
}  // namespace feedmill::test::traces_test
