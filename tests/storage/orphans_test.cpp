// Feeds that were added for a channel and are no longer in any (RELIABILITY L19).
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "storage/lua/scripts.hpp"
#include "storage/timelines/channels.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::orphans_test {
namespace {

constexpr Milliseconds hour = std::chrono::hours(1);

class Orphans : public StoreTest {
 protected:
  Orphans() { EXPECT_TRUE(channels.add(std::vector<std::string>{"anna/news", "bert/news"})); }

  void add_to(const std::string& channel, const std::string& url = feed_url) {
    const NewFeed feed{.feed_url = url};
    ASSERT_TRUE(Feeds(store).add(std::span(&feed, 1), channel));
  }
  std::optional<bool> follow(const std::string& channel, const std::string& url = feed_url) {
    const Membership membership{channel, url};
    const auto done = channels.follow(std::span(&membership, 1));
    EXPECT_TRUE(done);
    return done ? done->front() : std::nullopt;
  }
  void unfollow(const std::string& channel, const std::string& url = feed_url) {
    ASSERT_TRUE(channels.unfollow({channel, url}));
  }
  /// Makes the feed look as if it had been in no channel, or paused for that reason, for more than an hour.
  void wait_an_hour(const std::string& url = feed_url) { redis({"ZADD", "state:orphans", "XX", "1", url}); }
  std::size_t look() {
    const auto looked_at = Feeds(store).look_after_orphans(hour);
    EXPECT_TRUE(looked_at) << looked_at.error().detail;
    return looked_at ? *looked_at : 0;
  }
  std::string state(const std::string& field, const std::string& url = feed_url) {
    return redis({"HGET", "state:feed:" + url, field});
  }
  bool is_feed(const std::string& url = feed_url) { return redis({"SISMEMBER", "feeds", url}) == "1"; }
  bool is_scheduled(const std::string& url = feed_url) { return redis({"ZSCORE", "schedule", url}) != "(nil)"; }
  std::string since(const std::string& url = feed_url) { return redis({"ZSCORE", "state:orphans", url}); }

  /// Adds the feed for a channel, takes it out, and has it paused for that reason.
  void make_paused() {
    add_to("anna/news");
    unfollow("anna/news");
    wait_an_hour();
    EXPECT_EQ(look(), 1U);
    EXPECT_EQ(state("state"), "paused");
  }

  Channels channels{store};
};

TEST_F(Orphans, ArePausedAndRemovedWithoutFollowers) {
  add_to("anna/news");
  refresh({post("a", 1000)});
  EXPECT_EQ(follow("bert/news"), true);
  unfollow("anna/news");
  EXPECT_EQ(since(), "(nil)") << "it is in another";
  unfollow("bert/news");
  EXPECT_NE(since(), "(nil)");
  EXPECT_EQ(look(), 0U) << "not for so long";
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_EQ(look(), 0U);
  EXPECT_EQ(state("state"), "paused");
  EXPECT_EQ(state("won"), "orphaned");
  EXPECT_FALSE(is_scheduled());
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "paused"}), "1");
  const auto told = signals("feed_paused");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("feed_url").as_string(), feed_url);
  const auto& data = told[0].at("data").as_object();
  EXPECT_EQ(data.at("why").as_string(), "orphaned");
  EXPECT_EQ(data.at("removal").as_int64(), told[0].at("timestamp").as_int64() + 3600);

  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_FALSE(is_feed());
  EXPECT_EQ(redis({"EXISTS", "state:feed:" + feed_url, feed_url + ":sort", "state:orphans", "state:removals"}), "0");
  EXPECT_EQ(signals("post_trimmed").size(), 1U);
}

TEST_F(Orphans, AreThoseOfAChannelThatGoes) {
  add_to("anna/news");
  add_to("anna/news", "https://two.org/");
  EXPECT_EQ(follow("bert/news", "https://two.org/"), true);
  ASSERT_TRUE(channels.remove("anna/news"));
  EXPECT_NE(since(), "(nil)");
  EXPECT_EQ(since("https://two.org/"), "(nil)");
}

TEST_F(Orphans, FeedsThatWereAddedForThemselvesNeverAre) {
  add();
  EXPECT_EQ(follow("anna/news"), true);
  unfollow("anna/news");
  EXPECT_EQ(since(), "(nil)");
  add_to("anna/news");
  unfollow("anna/news");
  EXPECT_EQ(since(), "(nil)") << "who adds it for a channel later takes nobody's wish away";

  const std::string two = "https://two.org/";
  add_to("anna/news", two);
  unfollow("anna/news", two);
  EXPECT_NE(since(two), "(nil)");
  add(two);  // now added without a channel, too
  EXPECT_EQ(since(two), "(nil)");
  EXPECT_EQ(follow("anna/news", two), true);
  unfollow("anna/news", two);
  EXPECT_EQ(since(two), "(nil)");
}

TEST_F(Orphans, ResumeOnceTheyAreFollowedOrAdded) {
  make_paused();
  EXPECT_EQ(follow("bert/news"), true);
  EXPECT_EQ(state("state"), "new");
  EXPECT_EQ(state("orphaned"), "(nil)");
  EXPECT_TRUE(is_scheduled());
  EXPECT_EQ(since(), "(nil)");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "paused"}), "0");
  ASSERT_TRUE(Feeds(store).remove(feed_url));

  make_paused();
  add();
  EXPECT_TRUE(is_scheduled());
  EXPECT_EQ(state("state"), "new");
  ASSERT_TRUE(Feeds(store).remove(feed_url));

  make_paused();  // the operator resumes it: its grace period starts again
  const ResumedFeed feed{feed_url, Milliseconds(0)};
  ASSERT_TRUE(Feeds(store).resume(std::span(&feed, 1), hour));
  EXPECT_TRUE(is_scheduled());
  EXPECT_EQ(look(), 0U);
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_EQ(state("won"), "orphaned");
  EXPECT_TRUE(is_feed());
}

TEST_F(Orphans, AreNotAskedSoonerForHavingBeenPaused) {
  add_to("anna/news");
  refresh({post("a", 1000)});
  unfollow("anna/news");
  const std::string due = redis({"ZSCORE", "schedule", feed_url});
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_EQ(follow("anna/news"), true);
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), due);
}

TEST_F(Orphans, StayPausedIfAnOperatorPausedThem) {
  add_to("anna/news");
  ASSERT_TRUE(Feeds(store).pause(std::vector{feed_url}));
  unfollow("anna/news");
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_EQ(state("won"), "paused");
  EXPECT_EQ(since(), "(nil)");
  EXPECT_EQ(follow("anna/news"), true);
  EXPECT_EQ(state("state"), "paused") << "nobody but its operator lets it go on";
  unfollow("anna/news");
  const ResumedFeed feed{feed_url, Milliseconds(0)};
  ASSERT_TRUE(Feeds(store).resume(std::span(&feed, 1), hour));
  EXPECT_NE(since(), "(nil)") << "from now on";

  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_EQ(Feeds(store).pause(std::vector{feed_url})->front(), Paused::already);
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_TRUE(is_feed());
  EXPECT_EQ(state("won"), "paused");
}

TEST_F(Orphans, PausedWhileTheyAreRefreshedStayOrphans) {
  add_to("anna/news");
  const Claim claimed = claim_one();
  unfollow("anna/news");
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  send(plan(claimed, {post("a", 1000)}));
  EXPECT_EQ(state("won"), "orphaned");
  EXPECT_EQ(state("state"), "paused");
  EXPECT_EQ(follow("anna/news"), true);
  EXPECT_EQ(state("state"), "healthy");
  EXPECT_TRUE(is_scheduled());
}

// The feed is listed for removal, but gets a follower before it is removed.
TEST_F(Orphans, AreNotRemovedOnceTheyAreFollowedAgain) {
  make_paused();
  wait_an_hour();
  const std::string look_script = redis({"SCRIPT", "LOAD", scripts::orphans});
  const std::string told = redis({"EVALSHA", look_script, "2", "schedule", "none", "", "3600000", "", "100000"});
  EXPECT_NE(told.find(feed_url), std::string::npos) << told;
  const std::string remove = redis({"SCRIPT", "LOAD", scripts::remove});
  const auto begin_removal = [&] {
    return redis({"EVALSHA", remove, "2", "schedule", "none", "", "", feed_url, "\"" + feed_url + "\"", "100000",
                  "orphan", "3600000"});
  };
  EXPECT_EQ(follow("anna/news"), true);
  EXPECT_EQ(begin_removal(), "0");
  unfollow("anna/news");
  EXPECT_EQ(begin_removal(), "0") << "it has its time once more";
  EXPECT_TRUE(is_feed());

  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  wait_an_hour();
  EXPECT_EQ(begin_removal(), "1");
  // The remover dies. A later follower learns that the feed is unknown, or adds it and keeps it.
  EXPECT_EQ(follow("anna/news"), std::nullopt);
  add_to("bert/news");
  EXPECT_EQ(*Feeds(store).finish_removals(), 0U);
  ASSERT_TRUE(channels.forget_feed(feed_url));  // as a client does that began to finish the removal earlier
  EXPECT_TRUE(is_feed());
  EXPECT_EQ(redis({"SMEMBERS", "channel:bert/news:feeds"}), feed_url);
}

// An older build without this index moves feeds into channels and out of them.
TEST_F(Orphans, AreKnownByTheirChannelsAndNotByTheirIndex) {
  add_to("anna/news");
  unfollow("anna/news");
  wait_an_hour();
  redis({"SADD", "channel:bert/news:feeds", feed_url});
  redis({"SADD", "state:channels:" + feed_url, "bert/news"});
  EXPECT_EQ(look(), 1U);
  EXPECT_TRUE(is_scheduled());
  EXPECT_EQ(since(), "(nil)");
  unfollow("bert/news");

  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_FALSE(is_scheduled());
  redis({"SADD", "channel:bert/news:feeds", feed_url});
  redis({"SADD", "state:channels:" + feed_url, "bert/news"});
  wait_an_hour();
  EXPECT_EQ(look(), 1U);
  EXPECT_TRUE(is_scheduled()) << "it goes on";
  EXPECT_EQ(state("orphaned"), "(nil)");
  redis({"DEL", "state:orphans"});
  redis({"SET", "state:orphans", "broken"});
  unfollow("bert/news");
  add_to("anna/news");
  EXPECT_TRUE(is_feed());
}

TEST_F(Orphans, OfAListAreThoseOfItsChannels) {
  const NewFeed feed{.feed_url = feed_url, .for_channels = true};
  ASSERT_TRUE(Feeds(store).add(std::span(&feed, 1)));
  EXPECT_EQ(follow("anna/news"), true);
  unfollow("anna/news");
  EXPECT_NE(since(), "(nil)");
}

// One client follows and unfollows, another removes feeds that had no follower for a moment.
TEST_F(Orphans, AFeedInAChannelIsNeverLost) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> upkeep;
  for (int i = 0; i < 2; ++i) {
    upkeep.emplace_back([&] {
      Store other(StoreOptions{.url = server.url()});
      ASSERT_TRUE(other.open());
      while (!ends) {
        ASSERT_TRUE(Feeds(other).look_after_orphans(Milliseconds(1)));
        ASSERT_TRUE(Feeds(other).finish_removals());
      }
    });
  }
  std::mt19937 random(18);
  int removed = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string channel = random() % 2 == 0 ? "anna/news" : "bert/news";
    if (random() % 2 == 0 || follow(channel) == std::nullopt) add_to(channel);
    for (int look_again = 0; look_again < 3; ++look_again) {
      ASSERT_TRUE(is_feed()) << round;
      ASSERT_TRUE(is_scheduled()) << round;
      ASSERT_EQ(redis({"SISMEMBER", "channel:" + channel + ":feeds", feed_url}), "1") << round;
    }
    unfollow("anna/news");
    unfollow("bert/news");
    if (random() % 4 == 0) {
      while (is_feed()) std::this_thread::yield();
      ++removed;
    }
  }
  ends = true;
  for (std::thread& thread : upkeep) thread.join();
  EXPECT_GT(removed, 0);
}

}  // namespace
}  // namespace feedmill::test::orphans_test
