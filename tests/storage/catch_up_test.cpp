// All workers share one budget of overdue feeds (HTTP P12).
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::catch_up_test {
namespace {

class CatchUp : public StoreTest {
 protected:
  static std::string url(const std::string& name) { return "https://" + name + ".example/"; }

  std::int64_t now() {
    return std::stoll(
        redis({"EVAL", "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)", "0"}));
  }

  /// Adds feeds that are overdue by `late` milliseconds.
  void add_late(const std::string& name, int count, std::int64_t late) {
    std::vector<NewFeed> feeds;
    for (int i = 0; i < count; ++i) feeds.push_back({.feed_url = url(name + std::to_string(i))});
    ASSERT_TRUE(Feeds(store).add(feeds));
    const std::string due = std::to_string(now() - late);
    for (const NewFeed& feed : feeds) redis({"ZADD", "schedule", "XX", due, feed.feed_url});
  }

  ClaimBatch take(const std::string& worker, std::uint64_t rate, std::size_t max = 1000) {
    ClaimRequest request;
    request.worker = worker;
    request.request = ++requests;
    request.max = max;
    request.overdue_rate = rate;
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch) << batch.error().detail;
    return batch ? *batch : ClaimBatch();
  }
};

TEST_F(CatchUp, OfAllWorkersIsOneBudget) {
  add_late("late", 700, 60'000);
  const auto begun = now();
  std::size_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    const ClaimBatch batch = take(i % 2 == 0 ? worker_a : worker_b, 20);
    taken += batch.claims.size();
    if (!batch.claims.empty()) continue;
    EXPECT_TRUE(batch.exhausted);
    ASSERT_TRUE(batch.next_due);
    EXPECT_GT(*batch.next_due, batch.now);
    EXPECT_LE(*batch.next_due - batch.now, Milliseconds(100));
  }
  // The burst of a quarter of a second, one more, and the feeds paced in since.
  EXPECT_GE(taken, 6U);
  EXPECT_LE(taken, 7U + static_cast<std::size_t>((now() - begun) / 50));
  redis({"HSET", "meta:store", "overdue_until", "1"});
  EXPECT_EQ(take(worker_a, 20).claims.size(), 6U) << "what was not used does not add up";
  redis({"HSET", "meta:store", "overdue_until", std::to_string(now() + 3'600'000)});
  EXPECT_EQ(take(worker_a, 20).claims.size(), 1U) << "the clock was put back";
  EXPECT_GT(take(worker_b, 0).claims.size(), 400U) << "unpaced";
}

TEST_F(CatchUp, ARepeatedRequestSpendsNothing) {
  add_late("late", 50, 60'000);
  const ClaimBatch first = take(worker_a, 20);
  const std::string spent = redis({"HGET", "meta:store", "overdue_until"});
  --requests;
  const ClaimBatch again = take(worker_a, 20);
  ASSERT_EQ(again.claims.size(), first.claims.size());
  EXPECT_EQ(redis({"HGET", "meta:store", "overdue_until"}), spent);
}

TEST_F(CatchUp, FeedsOnTimeAreNotPaced) {
  add_late("late", 700, 60'000);  // more than one call examines
  add_late("ontime", 3, 500);
  add_late("held", 1, 300);
  redis({"HSET", "state:feed:" + url("held0"), "held", std::to_string(now() - 60'000)});
  redis({"HSET", "meta:store", "overdue_until", std::to_string(now() - 10)});
  const ClaimBatch batch = take(worker_a, 1);
  ASSERT_EQ(batch.claims.size(), 3U);
  for (const Claim& claim : batch.claims) EXPECT_EQ(claim.feed_url.find("https://ontime"), 0U) << claim.feed_url;
  EXPECT_TRUE(batch.exhausted);
  // A requested feed is not counted.
  const std::vector<std::string> wished{url("late699")};
  ASSERT_TRUE(Feeds(store).wake(wished, Milliseconds(0), true));
  const ClaimBatch wish = take(worker_a, 1);
  ASSERT_EQ(wish.claims.size(), 1U);
  EXPECT_EQ(wish.claims[0].feed_url, wished[0]);
}

}  // namespace
}  // namespace feedmill::test::catch_up_test
