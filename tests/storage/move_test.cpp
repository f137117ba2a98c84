// Moving a feed: the requested URL changes, the feed's keys stay (HTTP R5, R8).
#include "storage/feeds/feeds.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::move_test {
namespace {

using test::feed_url;

class Moves : public test::StoreTest {
 protected:
  const std::string target = "https://elsewhere.org/feed.xml";

  std::string state(const std::string& field) { return redis({"HGET", "state:feed:" + feed_url, field}); }
  FeedState state() { return (*Feeds(store).records(std::vector{feed_url}))[0]->state; }

  /// The commit that decide() makes for an accepted redirect.
  Commit moving(const Claim& claimed) {
    Commit commit = plan(claimed, {post("a", 100)});
    const Move move{claimed.now, feed_url, target};
    commit.move_to = commit.state.address.fetch_url = target;
    commit.state.validators.url = target;
    remember_move(commit.state.address, move);
    commit.events.push_back(moved_event(move));
    return commit;
  }
};

TEST_F(Moves, ACommitMovesTheRequestedUrlButNoKey) {
  add();
  refresh({post("a", 100)});
  const std::string before = redis({"KEYS", "*"});
  const Committed done = send(moving(claim_one()));
  EXPECT_FALSE(done.move_taken);
  EXPECT_EQ(state("fetch_url"), target);
  ASSERT_EQ(signals("feed_moved").size(), 1U);
  EXPECT_EQ(boost::json::serialize(signals("feed_moved")[0].at("data")),
            R"({"from":"https://example.org/feed.xml","to":"https://elsewhere.org/feed.xml"})");
  EXPECT_EQ(signals("feed_moved")[0].at("feed_url").as_string(), feed_url);
  EXPECT_EQ(redis({"EXISTS", target + ":sort", "Feed:" + target, "state:feed:" + target}), "0");
  EXPECT_EQ(state().address.moves.size(), 1U);
  EXPECT_EQ(claim_one().state.address.fetch_url, target);
  EXPECT_EQ(redis({"EXISTS", "state:host:elsewhere.org"}), "1") << "its host is the new one from now on";
}

// HTTP R8
TEST_F(Moves, NothingIsMergedWhenTheTargetIsAFeed) {
  add();
  refresh({post("a", 100)});
  add(target);
  redis({"ZADD", "schedule", "XX", std::to_string((*store.now() + std::chrono::hours(1)).count()), target});
  const std::string dump = redis({"DUMP", "state:feed:" + target});
  const Committed done = send(moving(claim_one()));
  EXPECT_TRUE(done.move_taken);
  EXPECT_EQ(done.result, Committed::Result::ok);
  EXPECT_EQ(state("fetch_url"), "(nil)");
  EXPECT_EQ(state("moves"), "(nil)");
  EXPECT_EQ(state("validators_url"), target) << "they are whose they are";
  EXPECT_EQ(state("no_move_to"), target) << "it is said once";
  EXPECT_TRUE(signals("feed_moved").empty());
  EXPECT_EQ(redis({"DUMP", "state:feed:" + target}), dump);
}

// HTTP R8
TEST_F(Moves, AnOperatorMovesAFeedAndBack) {
  add();
  Commit commit = plan(claim_one(), {post("a", 100)});
  commit.state.validators.etag = "\"x\"";
  send(commit);
  const std::string keys = redis({"DBSIZE"});
  EXPECT_EQ(*Feeds(store).move(feed_url, target), MoveResult::moved);
  EXPECT_EQ(*Feeds(store).move(feed_url, target), MoveResult::same);
  EXPECT_EQ(state("fetch_url"), target);
  EXPECT_EQ(state("validators_url"), feed_url) << "HTTP P3";
  EXPECT_EQ(redis({"DBSIZE"}), keys);
  EXPECT_EQ(*Feeds(store).undo_move(feed_url), MoveResult::moved);
  EXPECT_EQ(state("fetch_url"), "(nil)");
  EXPECT_EQ(state("validators_url"), feed_url);
  EXPECT_EQ(state("no_move_to"), target) << "its redirect does not undo the undoing";
  EXPECT_EQ(signals("feed_moved").size(), 2U);
  EXPECT_EQ(boost::json::serialize(signals("feed_moved")[1].at("data")),
            R"({"from":"https://elsewhere.org/feed.xml","to":"https://example.org/feed.xml"})");
  EXPECT_EQ(state().address.moves.size(), 2U);
  EXPECT_EQ(redis({"HGET", feed_url + ":guidmap", "a"}), "Entry:1");
}

TEST_F(Moves, AreRefusedWhereTheyMakeNoSense) {
  add();
  add(target);
  EXPECT_EQ(*Feeds(store).move(feed_url, target), MoveResult::taken);
  EXPECT_EQ(*Feeds(store).move(feed_url, feed_url), MoveResult::same);
  EXPECT_EQ(*Feeds(store).move("https://no.where/", "https://other.org/"), MoveResult::unknown);
  EXPECT_EQ(*Feeds(store).undo_move("https://no.where/"), MoveResult::unknown);
  EXPECT_EQ(*Feeds(store).undo_move(feed_url), MoveResult::nothing);
  EXPECT_TRUE(signals().empty());
}

TEST_F(Moves, CanBeUndoneForNinetyDays) {
  add();
  const auto moved = [&](std::int64_t days) {
    const auto at = *store.now() - std::chrono::hours(24 * days);
    redis({"HSET", "state:feed:" + feed_url, "fetch_url", target, "moves",
           std::to_string(at.count()) + " " + feed_url + " " + target + "\n"});
  };
  moved(91);
  EXPECT_EQ(*Feeds(store).undo_move(feed_url), MoveResult::nothing);
  moved(89);
  EXPECT_EQ(*Feeds(store).undo_move(feed_url), MoveResult::moved);
}

TEST_F(Moves, ARunningRefreshIsDiscarded) {
  add();
  const Claim claimed = claim_one();
  EXPECT_EQ(*Feeds(store).move(feed_url, target), MoveResult::moved);
  EXPECT_EQ(redis({"HKEYS", "state:host:example.org"}), "last_start") << "its slot is free";
  EXPECT_EQ(send(plan(claimed, {post("a", 100)})).result, Committed::Result::stale);
  EXPECT_EQ(claim().claims.size(), 1U) << "and the feed is due at once";
  EXPECT_EQ(state("strikes"), "1");
}

// Answers of the wrong URL say nothing about the new one.
TEST_F(Moves, ForgetsWhatTheOldUrlOfANeverReadFeedSaid) {
  add();
  Commit commit = plan(claim_one(), {});
  commit.state.state = "never_read";
  commit.state.last = {404, "failed", "status.not_found", "", *store.now(), {}};
  commit.state.failures = {3, "status", *store.now(), *store.now()};
  commit.state.due.not_before = *store.now() + std::chrono::hours(1);
  ASSERT_EQ(send(std::move(commit)).result, Committed::Result::ok);
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "never_read"}), "1");

  EXPECT_EQ(*Feeds(store).move(feed_url, target), MoveResult::moved);
  const FeedState is = state();
  EXPECT_EQ(is.state, "never_read") << "consumers were told, and will be told when it is read";
  EXPECT_EQ(is.failures, FailureRun());
  EXPECT_EQ(is.last, LastRefresh());
  EXPECT_EQ(claim_one().state.address.fetch_url, target) << "due at once";
}

TEST_F(Moves, TheHistoryStaysBounded) {
  add();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(*Feeds(store).move(feed_url, target + "?" + std::to_string(i)), MoveResult::moved);
  }
  EXPECT_EQ(state().address.moves.size(), 8U);
  EXPECT_EQ(state().address.moves.back().to, target + "?19");
}

}  // namespace
}  // namespace feedmill::move_test
