#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/records/state_fields.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/process/fleet_watch.hpp"

namespace feedmill::staleness_scan_test {
namespace {

class SurveyTest : public testing::Test {
 protected:
  SurveyTest() : store(StoreOptions{.url = redis.url()}) { EXPECT_TRUE(store.open()); }

  double round() {
    for (;;) {
      const auto oldest = survey.step(store);
      if (!oldest) continue;
      if (oldest->count() == 0) return 0;
      return std::chrono::duration<double>(*store.now() - *oldest).count();
    }
  }
  void command(const std::vector<std::string>& words) { test::redis_command(redis, words); }

  test::RedisServer redis;
  Store store;
  StalenessScan survey;
};

TEST_F(SurveyTest, FindsNothingInAnEmptyStore) {
  EXPECT_EQ(round(), 0);
}

TEST_F(SurveyTest, FindsTheHealthyFeedThatHadNoSuccessForLongest) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 3000; ++i) feeds.push_back(NewFeed{.feed_url = "https://example.org/" + std::to_string(i)});
  ASSERT_TRUE(Feeds(store).add(feeds));
  const auto now = *store.now();
  const auto succeeded = [&](const std::string& feed, const std::string& state, Milliseconds ago) {
    FeedState is;
    is.state = state;
    is.last.at = is.last.success = now - ago;
    for (const auto& [name, value] : changed_state_fields(FeedState(), is)) {
      command({"HSET", "state:feed:https://example.org/" + feed, name, value});
    }
  };
  succeeded("7", "healthy", std::chrono::hours(1));
  succeeded("2900", "healthy", std::chrono::hours(5));
  succeeded("11", "failing", std::chrono::hours(9));
  EXPECT_FALSE(survey.step(store)) << "3,000 feeds are more than one step";
  EXPECT_NEAR(round(), 5 * 3600, 60);
  EXPECT_NEAR(round(), 5 * 3600, 60) << "round after round";
}

TEST_F(SurveyTest, RestartsWhenTheStoreFails) {
  redis.kill();
  EXPECT_FALSE(survey.step(store));
  redis.start();
  EXPECT_EQ(round(), 0);
}

}  // namespace
}  // namespace feedmill::staleness_scan_test
