// Feeds that crash their workers (SECURITY Q1–Q3).
#include <algorithm>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::quarantine_test {
namespace {

using std::chrono::hours;
using test::feed_url;
using test::worker_a;
using test::worker_b;

class Quarantine : public test::StoreTest {
 protected:
  std::string state(const std::string& field, const std::string& url = feed_url) {
    return redis({"HGET", "state:feed:" + url, field});
  }
  /// Claims up to `max` feeds and dies; each call is another worker.
  ClaimBatch die(std::size_t max = 1000) {
    const ClaimBatch batch = claim(next_worker(), max, Milliseconds(1));
    Milliseconds last = batch.now;
    while (last <= batch.now + Milliseconds(1)) last = *store.now();  // until the leases have expired
    return batch;
  }
  std::string next_worker() {
    const std::string digits = std::to_string(++workers);
    return std::string(28 - digits.size(), '0') + digits + "0000";  // each in a process of its own
  }
  bool contains(const ClaimBatch& batch, const std::string& url) {
    return std::any_of(batch.claims.begin(), batch.claims.end(), [&](const Claim& one) { return one.feed_url == url; });
  }
  /// Runs workers in sequence; each dies as soon as it claims `poison` and otherwise serves its feeds. Returns the
  /// quarantined feeds.
  std::string quarantined_by(const std::string& poison) {
    const HostLimits any{1'000'000, Milliseconds(0)};
    for (int pass = 0; pass < 10; ++pass) {
      const std::string worker = next_worker();
      make_all_due();  // as if the dead worker's leases had expired
      for (;;) {
        const ClaimBatch batch = claim(worker, 100, Milliseconds(90'000), any);
        if (!batch.quarantined.empty()) return batch.quarantined[0].feed_url;
        if (contains(batch, poison)) break;
        for (const Claim& one : batch.claims) send(plan(one, {}));
        if (batch.claims.empty()) make_all_due();
      }
    }
    return "";
  }

  int workers = 0;
};

TEST_F(Quarantine, AStrikeIsClearedByCommitAndByRelease) {
  add();
  const Claim claimed = claim_one();
  EXPECT_EQ(claimed.state.quarantine.strikes, 1U);
  EXPECT_EQ(state("strikes"), "1");
  send(plan(claimed, {}));
  EXPECT_EQ(state("strikes"), "(nil)");
  EXPECT_EQ(*Ingest(store).release(std::vector{claim_one()}), 1U);
  EXPECT_EQ(state("strikes"), "(nil)");
  EXPECT_FALSE(claim_one().alone);
}

TEST_F(Quarantine, FeedsWithAStrikeAreHandedOutOneAtATimeToAWorker) {
  for (int i = 0; i < 20; ++i) add("https://a.org/" + std::to_string(i));
  EXPECT_EQ(die().claims.size(), 20U);
  add("https://fresh.org/");
  const ClaimBatch batch = claim(worker_a, 100);
  ASSERT_EQ(batch.claims.size(), 2U);
  EXPECT_TRUE(contains(batch, "https://fresh.org/")) << "others go on beside it";
  const Claim& lonely = batch.claims[0].alone ? batch.claims[0] : batch.claims[1];
  EXPECT_TRUE(lonely.alone);
  EXPECT_EQ(batch.deferred.size(), 19U);
  EXPECT_EQ(batch.deferred[0].code, "quarantine");
  make_all_due();
  redis({"ZADD", "schedule", "XX", std::to_string((batch.now + hours(1)).count()), lonely.feed_url});
  for (const Claim& one : claim(worker_a, 100).claims) EXPECT_FALSE(one.alone) << "one at a time";
  EXPECT_EQ(claim(worker_b, 100).claims.size(), 0U) << "they were put off a moment";
  make_all_due();
  redis({"ZADD", "schedule", "XX", std::to_string((batch.now + hours(1)).count()), lonely.feed_url});
  EXPECT_EQ(claim(worker_b, 100).claims.size(), 1U) << "another worker has one of its own";
  send(plan(lonely, {}));
  make_all_due();
  EXPECT_EQ(claim(worker_a, 1).claims.size(), 1U);
}

/// Loops of one process die together.
TEST_F(Quarantine, FeedsWithAStrikeAreHandedOutOneAtATimeToAProcess) {
  for (int i = 0; i < 4; ++i) add("https://a.org/" + std::to_string(i));
  EXPECT_EQ(die().claims.size(), 4U);
  const std::string process(28, 'e');
  const ClaimBatch first = claim(process + "0001", 100);
  ASSERT_EQ(first.claims.size(), 1U);
  EXPECT_TRUE(first.claims[0].alone);
  const auto others_due = [&] {
    make_all_due();
    redis({"ZADD", "schedule", "XX", std::to_string((first.now + hours(1)).count()), first.claims[0].feed_url});
  };
  for (const char* const loop : {"0000", "0001", "0002"}) {
    others_due();
    EXPECT_TRUE(claim(process + loop, 100).claims.empty()) << loop;
  }
  others_due();
  EXPECT_EQ(claim(worker_a, 1).claims.size(), 1U) << "another process has one of its own";
  send(plan(first.claims[0], {}));
  make_all_due();
  EXPECT_EQ(claim(process + "0000", 1).claims.size(), 1U);
}

TEST_F(Quarantine, LostClaimOfAnotherLoopOfALivingProcessIsNotADeath) {
  add();
  const std::string process(28, 'e');
  ASSERT_EQ(claim(process + "0001", 1, Milliseconds(1)).claims.size(), 1U);
  make_all_due();  // the lease expired while the store was unavailable
  const ClaimBatch again = claim(process + "0000", 1);
  ASSERT_EQ(again.claims.size(), 1U);
  EXPECT_FALSE(again.claims[0].alone);
  EXPECT_EQ(state("strikes"), "1");
}

TEST_F(Quarantine, ARepeatedClaimSaysAgainThatItIsAlone) {
  add();
  die();
  EXPECT_TRUE(claim().claims.at(0).alone);
  --requests;
  EXPECT_TRUE(claim().claims.at(0).alone);
  EXPECT_EQ(state("strikes"), "2") << "and counts once";
}

TEST_F(Quarantine, ThreeDeathsAloneAreEnough) {
  add();
  EXPECT_EQ(die().claims.size(), 1U) << "in company, perhaps: does not count";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(die().claims.size(), 1U) << i;
  const ClaimBatch batch = claim();
  EXPECT_TRUE(batch.claims.empty());
  ASSERT_EQ(batch.quarantined.size(), 1U);
  EXPECT_EQ(batch.quarantined[0].feed_url, feed_url);
  EXPECT_EQ(batch.quarantined[0].due, batch.now + hours(24));
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), std::to_string(batch.quarantined[0].due.count()));
  EXPECT_EQ(redis({"ZRANGE", "quarantine", "0", "-1"}), feed_url);
  EXPECT_EQ(state("state"), "quarantined");
  EXPECT_EQ(state("won"), "quarantine");
  EXPECT_EQ(redis({"HMGET", "stats:feeds:states", "new", "quarantined"}), "0 1");
  EXPECT_TRUE(signals().empty()) << "no signal";
  EXPECT_EQ(Feeds(store).wake(std::vector{feed_url}, Milliseconds(0), false)->at(0).result, Wake::Result::too_early)
      << "it has killed workers";
}

TEST_F(Quarantine, ADeathWhileItWaitsForAHostIsNotOfTheFeed) {
  add();
  add("http://there.org/");
  die();  // together with the other feed
  redis({"ZADD", "schedule", "XX", "+inf", feed_url});
  ASSERT_EQ(claim().claims.size(), 1U);  // keeps there.org busy
  const auto die_before = [&](const std::string& host) {
    redis({"ZADD", "schedule", "XX", "1", feed_url});
    const Claim led = claim(next_worker(), 1).claims.at(0);
    EXPECT_TRUE(led.alone);
    EXPECT_TRUE(Ingest(store).take_slot(led, host, {1, Milliseconds(0)}, Milliseconds(1)));
  };
  for (int i = 0; i < 4; ++i) die_before("there.org");
  EXPECT_EQ(state("alone_deaths"), "(nil)");
  for (const char* host : {"free.org", "idle.org"}) die_before(host);
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  EXPECT_EQ(claim(next_worker(), 1).claims.size(), 1U);
  EXPECT_EQ(state("alone_deaths"), "2");
}

TEST_F(Quarantine, AfterItOneAttemptIsEnoughAndTheWaitDoubles) {
  add();
  for (int i = 0; i < 4; ++i) die();
  EXPECT_EQ(claim().quarantined.size(), 1U);
  for (const int days : {2, 4, 7, 7}) {
    make_all_due();
    const ClaimBatch attempt = die();
    ASSERT_EQ(attempt.claims.size(), 1U);
    EXPECT_TRUE(attempt.claims[0].alone);
    EXPECT_EQ(attempt.claims[0].state.state, "quarantined");
    const ClaimBatch batch = claim();
    ASSERT_EQ(batch.quarantined.size(), 1U);
    EXPECT_EQ(batch.quarantined[0].due, batch.now + hours(24) * days);
  }
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "quarantined"}), "1");
}

TEST_F(Quarantine, ASuccessClearsEverything) {
  add();
  for (int i = 0; i < 4; ++i) die();
  claim();
  const Claim attempt = claim_one();
  EXPECT_TRUE(attempt.alone);
  send(plan(attempt, {}));
  EXPECT_EQ(redis({"EXISTS", "quarantine"}), "0");
  EXPECT_EQ(redis({"HMGET", "state:feed:" + feed_url, "state", "quarantines", "quarantined_at", "strikes", "alone",
                   "alone_deaths"}),
            "healthy (nil) (nil) (nil) (nil) (nil)");
  EXPECT_EQ(redis({"HMGET", "stats:feeds:states", "healthy", "quarantined"}), "1 0");
  EXPECT_FALSE(claim_one().alone);
}

TEST_F(Quarantine, AWorkerMayDecideItToo) {
  add();
  Commit commit = plan(claim_one(), {});
  commit.state.state = "quarantined";
  commit.state.quarantine.count = 1;
  commit.state.quarantine.since = Milliseconds(5);
  send(commit);
  EXPECT_EQ(redis({"ZRANGE", "quarantine", "0", "-1"}), feed_url);
  EXPECT_EQ(redis({"HMGET", "stats:feeds:states", "new", "quarantined"}), "0 1");
  make_all_due();
  const Claim attempt = claim_one();
  EXPECT_TRUE(attempt.alone);
  EXPECT_EQ(attempt.state.quarantine.count, 1U);
  send(plan(attempt, {}));
  EXPECT_EQ(redis({"EXISTS", "quarantine"}), "0");
  EXPECT_EQ(redis({"HMGET", "state:feed:" + feed_url, "state", "quarantines", "quarantined_at"}),
            "healthy (nil) (nil)");
}

TEST_F(Quarantine, ASurvivedAttemptRestartsTheCount) {
  add();
  for (int i = 0; i < 3; ++i) die();
  make_all_due();
  send(plan(claim_one(), {}));
  for (int i = 0; i < 3; ++i) {
    make_all_due();
    EXPECT_EQ(die().claims.size(), 1U);
  }
  make_all_due();
  EXPECT_TRUE(claim().quarantined.empty()) << "two deaths alone since";
}

TEST_F(Quarantine, FindsTheOneAmongManyAndSparesTheOthers) {
  std::vector<NewFeed> feeds;
  for (int i = 0; i < 60; ++i) feeds.push_back({"https://a.org/" + std::to_string(i), {}, "", ""});
  ASSERT_TRUE(Feeds(store).add(feeds));
  EXPECT_EQ(quarantined_by("https://a.org/50"), "https://a.org/50");
  EXPECT_EQ(redis({"ZRANGE", "quarantine", "0", "-1"}), "https://a.org/50");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "quarantined"}), "1");
}

TEST_F(Quarantine, GoesWithTheFeed) {
  add();
  for (int i = 0; i < 4; ++i) die();
  claim();
  EXPECT_TRUE(*Feeds(store).remove(feed_url));
  EXPECT_EQ(redis({"EXISTS", "quarantine"}), "0");
  EXPECT_EQ(redis({"HGET", "stats:feeds:states", "quarantined"}), "0");
}

}  // namespace
}  // namespace feedmill::quarantine_test
