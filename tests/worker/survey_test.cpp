#include "worker/survey.hpp"

#include <gtest/gtest.h>

#include "tests/support/redis_server.hpp"

namespace feedmill {
namespace {

class SurveyTest : public testing::Test {
 protected:
  SurveyTest() : store(options()) {}
  StoreOptions options() const {
    StoreOptions result;
    result.url = redis.url();
    return result;
  }
  SurveyFigures round() {
    for (;;) {
      if (const auto figures = survey.step(store, groups)) return *figures;
    }
  }
  void command(const std::vector<std::string>& words) { test::redis_command(redis, words); }

  test::RedisServer redis;
  Store store;
  Survey survey;
  std::vector<std::string> groups;
};

TEST_F(SurveyTest, FindsNothingInAnEmptyStore) {
  ASSERT_TRUE(store.open());
  EXPECT_EQ(round(), SurveyFigures{});
}

TEST_F(SurveyTest, CountsEachHostThatIsLeftAloneOnce) {
  ASSERT_TRUE(store.open());
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 3000; ++i) {
    feeds.push_back(NewFeed{.feed_url = "https://host" + std::to_string(i % 1500) + ".example/" + std::to_string(i)});
  }
  ASSERT_TRUE(store.add_feeds(feeds));
  const auto now = *store.now();
  const std::string later = std::to_string((now + Milliseconds(3'600'000)).count());
  command({"HSET", "state:host:host7.example", "not_before", later});
  command({"HSET", "state:host:host8.example", "not_before", std::to_string((now - Milliseconds(1)).count())});
  command({"HSET", "state:host:group:mirrors", "not_before", later});
  EXPECT_EQ(round().hosts_backing_off, 1u);
  groups = {"mirrors", "others"};
  EXPECT_EQ(round().hosts_backing_off, 2u);
}

TEST_F(SurveyTest, BeginsAnewWhenTheStoreFails) {
  ASSERT_TRUE(store.open());
  redis.kill();
  EXPECT_FALSE(survey.step(store, groups));
  redis.start();
  EXPECT_EQ(round(), SurveyFigures{});
}

}  // namespace
}  // namespace feedmill
