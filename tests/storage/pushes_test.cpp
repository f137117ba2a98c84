#include "storage/queues/pushes.hpp"

#include <algorithm>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::pushes_test {
namespace {

using namespace std::chrono_literals;
using How = PushSettlement::How;

const std::string hub = "https://hub.example/", topic = "https://example.org/self";

class PushesTest : public StoreTest {
 protected:
  PushesTest() { add(); }

  PushRecord record(const std::string& hash, const std::string& at = hub, const std::string& of = topic) const {
    PushRecord wanted;
    wanted.hash = hash;
    wanted.feed_url = feed_url;
    wanted.token = "token-of-" + hash;
    wanted.topic = of;
    wanted.hub = wanted.hub_url = at;
    wanted.secret = "secret-of-" + hash;
    return wanted;
  }
  /// Takes the turn of `member` at a hub with an hour between requests. Returns the wait in ms.
  double take_turn(const std::string& member, const std::string& came) {
    HubTurn turn;
    turn.host = "hub.example";
    turn.spacing = 1h;
    turn.member = member;
    turn.came = came;
    const auto wait = pushes.take_turn(turn);
    EXPECT_TRUE(wait) << wait.error().detail;
    return static_cast<double>(wait->count());
  }
  PushTurn begin(const std::string& hash, const std::string& at = hub, const std::string& of = topic) {
    const auto turn = pushes.begin(record(hash, at, of));
    EXPECT_TRUE(turn && *turn);
    return **turn;
  }
  PushAnswer answer(const std::string& hash, const std::string& mode = "subscribe", const std::string& of = topic) {
    const auto answered = pushes.answer({hash, mode, of, 240h, 120h, "no reason"});
    EXPECT_TRUE(answered) << answered.error().detail;
    return *answered;
  }
  void subscribe(const std::string& hash, const std::string& at = hub, const std::string& of = topic) {
    begin(hash, at, of);
    ASSERT_TRUE(answer(hash, "subscribe", of));
  }
  PushNoted note(const std::string& hash, PushNote::Kind kind = PushNote::Kind::thin) {
    const PushNote one{hash, kind};
    const auto noted = pushes.note(std::span(&one, 1)).front();
    EXPECT_TRUE(noted) << noted.error().detail;
    return noted ? *noted : PushNoted();
  }
  PushTurn settle(How how, const std::string& hash = "", const std::string& member = feed_url) {
    const auto turn = pushes.settle({member, how, 1h, hash, "why", "", ""});
    EXPECT_TRUE(turn) << turn.error().detail;
    return *turn;
  }
  std::optional<PushRecord> find(const std::string& hash) {
    const auto found = pushes.find(std::span(&hash, 1)).front();
    EXPECT_TRUE(found);
    return *found;
  }
  FeedRecord feed() {
    const auto records = Feeds(store).records(std::span(&feed_url, 1));
    EXPECT_TRUE(records);
    return *records->front();
  }
  std::string state(const std::string& field) { return redis({"HGET", "state:feed:" + feed_url, field}); }
  std::uint64_t count(const std::string& of_state) {
    const auto figures = Fleet(store).figures();
    EXPECT_TRUE(figures);
    for (const auto& [name, times] : figures->push_states) {
      if (name == of_state) return times;
    }
    return 0;
  }
  /// Refreshes the feed and makes it due in a day.
  void settle_feed() {
    refresh({post("a", 100)});
    redis({"ZADD", "schedule", "XX", std::to_string(now() + 24 * 3'600'000L), feed_url});
  }
  /// Receives a hint; returns the seconds until the fetch for it.
  std::int64_t wait_of_hint() {
    note("h1");
    return std::max<std::int64_t>(due() - now(), 0) / 1000;
  }
  /// Receives a push with content and writes it at once, as workers do.
  void write_push(const std::string& guid) {
    note("h1", PushNote::Kind::fat);
    write_noted(guid);
  }
  void write_noted(const std::string& guid) {
    const auto claimed = pushes.claim(feed_url, worker_a + ":push" + guid, 90s);
    ASSERT_TRUE(claimed && *claimed);
    Commit commit = plan(**claimed, {post(guid, 200)});
    commit.next_due = (*claimed)->due;
    ASSERT_EQ(send(commit).result, Committed::Result::ok);
  }
  /// Shifts the feed's times into the past, as if `time` had passed.
  void pass(std::chrono::milliseconds time) {
    redis(
        {"EVAL",
         ("for _, field in ipairs({'push_tat', 'push_due'}) do "
          "if redis.call('HEXISTS', KEYS[1], field) == 1 then redis.call('HINCRBY', KEYS[1], field, -ARGV[1]) end end "
          "redis.call('ZINCRBY', 'schedule', -ARGV[1], ARGV[2])"),
         "1", "state:feed:" + feed_url, std::to_string(time.count()), feed_url});
  }
  std::int64_t now() { return store.now()->count(); }
  std::int64_t due() { return feed().due->count(); }
  void make_push_task_due(const std::string& member = feed_url) { redis({"ZADD", "websub:due", "XX", "1", member}); }

  Pushes pushes{store};
};

TEST_F(PushesTest, StoresASubscriptionBeforeItIsRequested) {
  const PushTurn turn = begin("h1");
  EXPECT_EQ(turn.from, "");
  EXPECT_EQ(turn.to, "pending");
  const auto kept = find("h1");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->state, "pending");
  EXPECT_EQ(kept->token, "token-of-h1");
  EXPECT_EQ(kept->secret, "secret-of-h1");
  EXPECT_EQ(count("pending"), 1U);
  EXPECT_EQ(feed().state.push.standing.hub, hub);
  EXPECT_GT(std::stoll(redis({"PTTL", "websub:callback:h1"})), 0);
}

TEST_F(PushesTest, ConfirmsOnlyPendingSubscriptions) {
  begin("h1");
  EXPECT_FALSE(answer("h2"));
  EXPECT_FALSE(answer("h1", "unsubscribe"));
  EXPECT_FALSE(answer("h1", "publish"));
  EXPECT_FALSE(answer("h1", "subscribe", topic + "/"));
  EXPECT_EQ(feed().state.push.standing.state, "pending");
  const PushAnswer answered = answer("h1");
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->feed_url, feed_url);
  EXPECT_EQ(answered->from, "pending");
  EXPECT_EQ(answered->to, "unproven");
  EXPECT_FALSE(answer("h1"));  // no longer pending
  EXPECT_EQ(find("h1")->state, "active");
  EXPECT_EQ(feed().state.push.standing.subscription, "h1");
  EXPECT_EQ(count("pending"), 0U);
  EXPECT_EQ(count("unproven"), 1U);
}

TEST_F(PushesTest, ConfirmsNothingAfterAnHour) {
  begin("h1");
  redis({"HSET", "websub:callback:h1", "pending_since", std::to_string(now() - 3'600'001)});
  EXPECT_FALSE(answer("h1"));
}

TEST_F(PushesTest, AThinPushMakesTheFeedDueAndKeepsItsOldTime) {
  settle_feed();
  subscribe("h1");
  const std::int64_t before = due();
  const PushNoted noted = note("h1");
  EXPECT_EQ(noted.result, PushNoted::Result::noted);
  EXPECT_EQ(noted.at.count(), due());
  EXPECT_LE(due(), now());
  EXPECT_EQ(state("push_due"), std::to_string(before));
  EXPECT_EQ(feed().state.due.reason, "websub_push");
}

TEST_F(PushesTest, PushesUntilTheFetchAreOne) {
  settle_feed();
  subscribe("h1");
  note("h1");
  const std::string used = state("push_tat");
  for (int i = 0; i < 100; ++i) note("h1");
  EXPECT_EQ(state("push_tat"), used);
}

TEST_F(PushesTest, AfterABurstOfThreeThereIsOneFetchAMinute) {
  settle_feed();
  subscribe("h1");
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 20; ++i) {
    waits.push_back(wait_of_hint());
    settle_feed();  // fetched, and from the fourth time on earlier than scheduled
  }
  EXPECT_EQ(waits[0], 0);
  EXPECT_EQ(waits[1], 0);
  EXPECT_EQ(waits[2], 0);
  // No hint waits longer than a minute.
  for (std::size_t i = 3; i < waits.size(); ++i) EXPECT_NEAR(static_cast<double>(waits[i]), 60, 5) << i;
}

TEST_F(PushesTest, HintsWithoutEndLeadToOneFetchAMinute) {
  settle_feed();
  subscribe("h1");
  constexpr int minutes = 10;
  int fetches = 0;
  for (int seconds = 0; seconds < minutes * 60; seconds += 5) {
    if (wait_of_hint() == 0) {
      ++fetches;
      settle_feed();
    }
    pass(5s);
  }
  EXPECT_GE(fetches, minutes);
  EXPECT_LE(fetches, 3 + minutes);
}

TEST_F(PushesTest, ContentThatIsWrittenUsesUpNothingOfWhatHintsAreWorth) {
  settle_feed();
  subscribe("h1");
  const std::int64_t before = due();
  for (int i = 0; i < 50; ++i) write_push(std::to_string(i));
  EXPECT_EQ(due(), before);
  EXPECT_EQ(wait_of_hint(), 0);
}

TEST_F(PushesTest, AHintAmongContentIsFetchedForWithinAMinute) {
  settle_feed();
  subscribe("h1");
  for (int i = 0; i < 50; ++i) {
    EXPECT_LE(wait_of_hint(), 60);
    write_push(std::to_string(i));
    EXPECT_LE(due(), now() + 60'000) << "the hint was forgotten over the content that came after it";
  }
  EXPECT_EQ(feed().state.due.reason, "websub_push");
  settle_feed();  // the fetch satisfies the hint
  const std::int64_t before = due();
  write_push("last");
  EXPECT_EQ(due(), before);
}

TEST_F(PushesTest, AHintIsNotForgottenWithAClaimThatIsGivenBack) {
  settle_feed();
  subscribe("h1");
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  note("h1");
  redis({"HSET", "state:feed:" + feed_url, "claim_due", std::to_string(now() + 24 * 3'600'000L)});
  ASSERT_EQ(*Ingest(store).release(batch.claims), 1U);
  EXPECT_LE(due(), now());
  EXPECT_EQ(state("push_wake"), "(nil)");
}

TEST_F(PushesTest, AHintDoesNotCutShortWhatAClaimIsPutOffFor) {
  settle_feed();
  subscribe("h1");
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  note("h1");
  const Milliseconds until(now() + 3'600'000);
  ASSERT_EQ(*Ingest(store).release(batch.claims, until), 1U);
  EXPECT_EQ(due(), until.count());
}

TEST_F(PushesTest, AHintWaitsForANewerRetryAfter) {
  settle_feed();
  subscribe("h1");
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  note("h1");
  const std::int64_t told = now() + 3'600'000;
  redis({"HSET", "state:feed:" + feed_url, "not_before", std::to_string(told), "claim_due", std::to_string(told + 9)});
  ASSERT_EQ(*Ingest(store).release(batch.claims), 1U);
  EXPECT_EQ(due(), told);
}

TEST_F(PushesTest, AHintIsAnsweredByAFetchAndNotByTheClaimForIt) {
  settle_feed();
  subscribe("h1");
  const std::int64_t before = due();
  ASSERT_EQ(wait_of_hint(), 0);
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  ASSERT_EQ(*Ingest(store).release(batch.claims), 1U);  // because the host is closed or the worker stops
  write_push("b");
  EXPECT_LE(due(), now()) << "nobody has fetched for it yet";
  refresh({post("a", 100)});
  redis({"ZADD", "schedule", "XX", std::to_string(before), feed_url});
  write_push("c");
  EXPECT_EQ(due(), before) << "it was fetched for";
}

TEST_F(PushesTest, AHintSurvivesTheDeathOfItsClaimsWorker) {
  settle_feed();
  subscribe("h1");
  ASSERT_EQ(wait_of_hint(), 0);
  ASSERT_EQ(claim().claims.size(), 1U);
  redis({"ZADD", "schedule", "XX", "1", feed_url});  // the lease has expired
  const ClaimBatch next = claim(worker_b);
  ASSERT_EQ(next.claims.size(), 1U);
  ASSERT_EQ(*Ingest(store).release(next.claims), 1U);
  EXPECT_NE(state("push_hint"), "(nil)");
  EXPECT_EQ(state("push_claimed"), "(nil)");
}

TEST_F(PushesTest, PushesThatBringNothingAreAskedAboutLessOften) {
  settle_feed();
  subscribe("h1");
  redis({"HSET", "state:feed:" + feed_url, "push_barren", "3"});
  note("h1");
  EXPECT_LE(due(), now());
  settle_feed();
  redis({"HSET", "state:feed:" + feed_url, "push_barren", "6"});
  note("h1");
  EXPECT_NEAR(static_cast<double>(due() - now()), 300'000, 5'000);
}

TEST_F(PushesTest, AFatPushLeavesAMinuteToBeRead) {
  settle_feed();
  subscribe("h1");
  note("h1", PushNote::Kind::fat);
  EXPECT_NEAR(static_cast<double>(due() - now()), 60'000, 5'000);
  EXPECT_EQ(feed().state.push.standing.last_push.count(), 0) << "nobody knows yet whether it brings anything";
}

TEST_F(PushesTest, ABadSignatureIsCountedAndNothingElse) {
  settle_feed();
  subscribe("h1");
  const std::int64_t before = due();
  EXPECT_EQ(note("h1", PushNote::Kind::bad).result, PushNoted::Result::noted);
  EXPECT_EQ(due(), before);
  EXPECT_EQ(feed().state.push.standing.last_push.count(), 0);
  EXPECT_EQ(find("h1")->bad, 1U);
}

TEST_F(PushesTest, UnknownAndPendingPathsTakeNoPushes) {
  settle_feed();
  EXPECT_EQ(note("nobody").result, PushNoted::Result::unknown);
  begin("h1");
  EXPECT_EQ(note("h1").result, PushNoted::Result::unknown);
}

TEST_F(PushesTest, APathHoldsUntilAnHourAfterItsLease) {
  settle_feed();
  subscribe("h1");
  redis({"HSET", "websub:callback:h1", "lease_end", std::to_string(now() - 3'500'000)});
  EXPECT_EQ(note("h1").result, PushNoted::Result::noted);
  redis({"HSET", "websub:callback:h1", "lease_end", std::to_string(now() - 3'600'001)});
  EXPECT_EQ(note("h1").result, PushNoted::Result::retired);
}

TEST_F(PushesTest, ARetryAfterHoldsForPushesToo) {
  settle_feed();
  subscribe("h1");
  const std::int64_t told = now() + 7'200'000;
  redis({"HSET", "state:feed:" + feed_url, "not_before", std::to_string(told)});
  note("h1");
  EXPECT_EQ(due(), told);
}

TEST_F(PushesTest, APushDuringARefreshIsFetchedForAfterIt) {
  settle_feed();
  subscribe("h1");
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  Commit commit = plan(batch.claims[0], {post("a", 100)});
  commit.next_due = Milliseconds(now()) + 6h;
  note("h1");
  EXPECT_GT(due(), now() + 60'000);  // time of the lease
  EXPECT_EQ(send(commit).result, Committed::Result::ok);
  EXPECT_LE(due(), now());
  EXPECT_EQ(feed().state.due.reason, "websub_push");
  EXPECT_EQ(state("push_due"), std::to_string(commit.next_due.count()));
}

TEST_F(PushesTest, ClaimsAFeedToWritePushedContent) {
  settle_feed();
  subscribe("h1");
  const std::int64_t before = due();
  note("h1", PushNote::Kind::fat);
  const auto claimed = pushes.claim(feed_url, worker_a + ":push1", 90s);
  ASSERT_TRUE(claimed && *claimed);
  EXPECT_EQ((*claimed)->due.count(), before);
  EXPECT_EQ((*claimed)->state.state, "healthy");
  const auto again = pushes.claim(feed_url, worker_b + ":push1", 90s);
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);  // already claimed
  EXPECT_TRUE(claim(worker_b).claims.empty());
  Commit commit = plan(**claimed, {post("b", 200)});
  commit.next_due = (*claimed)->due;
  EXPECT_EQ(send(commit).created, 1U);
  EXPECT_EQ(due(), before);
  EXPECT_EQ(state("push_due"), "(nil)");
}

TEST_F(PushesTest, DoesNotClaimFeedsThatKilledWorkersOrWereNeverRead) {
  subscribe("h1");
  EXPECT_FALSE(*pushes.claim(feed_url, "x:1", 90s));
  settle_feed();
  redis({"HSET", "state:feed:" + feed_url, "strikes", "1"});
  EXPECT_FALSE(*pushes.claim(feed_url, "x:2", 90s));
}

TEST_F(PushesTest, ARefreshTurnsTheSubscriptionUnlessItHasTurnedSince) {
  settle_feed();
  subscribe("h1");
  Commit commit = plan(claim_one(), {post("c", 300)});
  commit.push_to = "healthy";
  EXPECT_TRUE(send(commit).push_turned);
  EXPECT_EQ(feed().state.push.standing.state, "healthy");
  EXPECT_EQ(count("healthy"), 1U);
  EXPECT_EQ(count("unproven"), 0U);
  Commit late = plan(claim_one(), {post("d", 400)});
  late.push_to = "doubtful";
  ASSERT_TRUE(answer("h1", "denied"));
  EXPECT_FALSE(send(late).push_turned);
  EXPECT_EQ(feed().state.push.standing.state, "denied");
}

// WEBSUB H1
TEST_F(PushesTest, RemembersThatItFellUntilItIsHealthy) {
  settle_feed();
  begin("h1");
  ASSERT_TRUE(answer("h1", "denied"));
  const Milliseconds fell = feed().state.push.standing.fell;
  EXPECT_GT(fell.count(), 0);
  settle(How::lost);
  EXPECT_EQ(feed().state.push.standing.fell, fell) << "since when";
  subscribe("h2");
  EXPECT_EQ(feed().state.push.standing.fell, fell) << "a new subscription has still to prove itself";
  Commit commit = plan(claim_one(), {post("c", 300)});
  commit.push_to = "healthy";
  EXPECT_EQ(commit.before.push.standing.fell, fell) << "so that it can be told";
  EXPECT_TRUE(send(commit).push_turned);
  EXPECT_EQ(feed().state.push.standing.fell.count(), 0);
  settle(How::lost);
  EXPECT_GT(feed().state.push.standing.fell.count(), 0);
  settle(How::left);
  EXPECT_EQ(state("push_fell"), "(nil)");
}

TEST_F(PushesTest, ARenewalKeepsTheOldPathUntilItsLeaseIsOver) {
  settle_feed();
  subscribe("h1");
  begin("h2");
  EXPECT_EQ(feed().state.push.standing.state, "unproven");
  ASSERT_TRUE(answer("h2"));
  EXPECT_EQ(feed().state.push.standing.subscription, "h2");
  EXPECT_EQ(note("h1").result, PushNoted::Result::noted);
  EXPECT_EQ(note("h2").result, PushNoted::Result::noted);
}

TEST_F(PushesTest, AnotherHubIsTakenBeforeTheFirstIsLeft) {
  settle_feed();
  subscribe("h1");
  begin("h2", "https://other.example/");
  EXPECT_EQ(note("h1").result, PushNoted::Result::noted);
  ASSERT_TRUE(answer("h2"));
  EXPECT_EQ(note("h1").result, PushNoted::Result::retired);
  EXPECT_NE(redis({"ZSCORE", "websub:due", "#h1"}), "(nil)");
  ASSERT_TRUE(*pushes.begin_end("h1"));
  EXPECT_TRUE(answer("h1", "unsubscribe"));
  EXPECT_EQ(redis({"ZSCORE", "websub:due", "#h1"}), "(nil)");
}

TEST_F(PushesTest, AStrangerCannotUnsubscribe) {
  settle_feed();
  subscribe("h1");
  EXPECT_FALSE(answer("h1", "unsubscribe"));
  EXPECT_EQ(note("h1").result, PushNoted::Result::noted);
}

TEST_F(PushesTest, ADenialEndsItAndIsTriedAgainLaterAndLater) {
  settle_feed();
  for (const int days : {7, 14, 28, 56, 90, 90}) {
    begin("h");
    EXPECT_FALSE(answer("h", "denied", topic + "x"));
    const PushAnswer denied = answer("h", "denied");
    ASSERT_TRUE(denied);
    EXPECT_EQ(denied->to, "denied");
    EXPECT_EQ(feed().state.push.standing.note, "no reason");
    const double wait = std::stod(redis({"ZSCORE", "websub:due", feed_url})) - static_cast<double>(now());
    EXPECT_NEAR(wait / 86'400'000, days, 0.01);
  }
  EXPECT_EQ(count("denied"), 1U);
}

TEST_F(PushesTest, ALostSubscriptionBringsTheNormalScheduleBackAtOnce) {
  settle_feed();
  subscribe("h1");
  Commit commit = plan(claim_one(), {});
  commit.push_to = "healthy";
  commit.next_due = Milliseconds(now()) + 24h;
  send(commit);
  const PushTurn turn = settle(How::lost);
  EXPECT_EQ(turn.from, "healthy");
  EXPECT_EQ(turn.to, "failed");
  EXPECT_LE(due(), now());
  EXPECT_EQ(feed().state.push.standing.tries, 1U);
}

TEST_F(PushesTest, AHubThatRefusesForgetsThePath) {
  begin("h1");
  EXPECT_EQ(settle(How::refused, "h1").to, "failed");
  EXPECT_FALSE(find("h1"));
  EXPECT_FALSE(answer("h1"));
  EXPECT_EQ(feed().state.push.standing.note, "why");
}

TEST_F(PushesTest, AHubThatCannotBeAskedMayVerifyAllTheSame) {
  begin("h1");
  EXPECT_EQ(settle(How::again, "h1").to, "pending");
  EXPECT_TRUE(answer("h1"));
}

TEST_F(PushesTest, ARetriedRefreshAsksForTheSubscriptionOnce) {
  Commit commit = plan(claim_one(), {post("a", 100)});
  commit.push_ask = Milliseconds(5);
  send(commit);
  EXPECT_EQ(redis({"ZSCORE", "websub:due", feed_url}), "5");
  const auto taken = pushes.take(10, 5min);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->tasks.size(), 1U);
  EXPECT_EQ(taken->tasks[0].feed_url, feed_url);
  EXPECT_FALSE(taken->tasks[0].subscription);
  EXPECT_TRUE(pushes.take(10, 5min)->tasks.empty());  // leased to another worker
}

TEST_F(PushesTest, TasksIncludeTheCurrentAndThePendingSubscription) {
  subscribe("h1");
  begin("h2");
  make_push_task_due();
  const auto taken = pushes.take(10, 5min);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->tasks.size(), 1U);
  ASSERT_TRUE(taken->tasks[0].subscription && taken->tasks[0].asked_for);
  EXPECT_EQ(taken->tasks[0].subscription->hash, "h1");
  EXPECT_EQ(taken->tasks[0].asked_for->hash, "h2");
  EXPECT_EQ(taken->tasks[0].state.push.standing.state, "unproven");
}

TEST_F(PushesTest, RemovingTheFeedUnsubscribesFromItsHub) {
  settle_feed();
  subscribe("h1");
  begin("h2");
  ASSERT_TRUE(*Feeds(store).remove(feed_url));
  EXPECT_EQ(note("h1").result, PushNoted::Result::retired);
  EXPECT_FALSE(find("h2"));
  EXPECT_FALSE(answer("h1"));
  EXPECT_EQ(count("unproven"), 0U);
  EXPECT_EQ(redis({"ZSCORE", "websub:due", feed_url}), "(nil)");
  const auto taken = pushes.take(10, 5min);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->tasks.size(), 1U);
  EXPECT_EQ(taken->tasks[0].member(), "#h1");
  EXPECT_EQ(taken->tasks[0].subscription->token, "token-of-h1");
  ASSERT_TRUE(*pushes.begin_end("h1"));
  EXPECT_TRUE(answer("h1", "unsubscribe"));
  EXPECT_GT(std::stoll(redis({"PTTL", "websub:callback:h1"})), 0);
}

TEST_F(PushesTest, SubscriptionOfARemovedFeedKeepsItsSettings) {
  const std::string settings = R"({"ca_file":"/etc/ours.pem"})";
  ASSERT_EQ(*Feeds(store).change_settings(feed_url, "", settings), SettingsChange::done);
  settle_feed();
  subscribe("h1");
  EXPECT_EQ(find("h1")->settings, "");
  ASSERT_TRUE(*Feeds(store).remove(feed_url));
  const auto taken = pushes.take(10, 5min);
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->tasks.size(), 1U);
  EXPECT_EQ(taken->tasks[0].subscription->settings, settings);
}

TEST_F(PushesTest, AHubIsAskedByAllWorkersTogetherAsOftenAsOneMay) {
  HubTurn turn;
  turn.host = "hub.example";
  turn.at_once = 2;
  turn.spacing = 0ms;
  const auto take = [&](const std::string& member) {
    turn.member = member;
    const auto wait = pushes.take_turn(turn);
    EXPECT_TRUE(wait) << wait.error().detail;
    return wait->count();
  };
  EXPECT_EQ(take(feed_url), 0);
  EXPECT_EQ(take("#h2"), 0);
  EXPECT_GT(take("#h3"), 0);
  turn.host = "other.example";
  EXPECT_EQ(take("#h3"), 0);
  turn.host = "hub.example";
  PushSettlement done{feed_url, How::wait, 1h, "", "", "", "hub.example"};
  ASSERT_TRUE(pushes.settle(done));
  EXPECT_EQ(take("#h3"), 0);
  EXPECT_GT(take("#h4"), 0);
  // Starts are spaced; members that have to wait are queued in order.
  turn.host = "slow.example";
  turn.spacing = 1h;
  EXPECT_EQ(take("#h1"), 0);
  EXPECT_NEAR(static_cast<double>(take("#h2")), 3.6e6, 5e3);
  EXPECT_NEAR(static_cast<double>(take("#h3")), 7.2e6, 5e3);
  // A worker that died during its turn does not keep it.
  turn.host = "dead.example";
  turn.at_once = 1;
  turn.spacing = 0ms;
  EXPECT_EQ(take("#h1"), 0);
  EXPECT_GT(take("#h2"), 0);
  redis({"HSET", "state:host:hub:dead.example", "s:#h1", std::to_string(now() - 1)});
  EXPECT_EQ(take("#h2"), 0);
  EXPECT_GT(std::stoll(redis({"PTTL", "state:host:hub:dead.example"})), 0);
}

TEST_F(PushesTest, EveryPushThatWaitsToBeWrittenKeepsItsSafetyNet) {
  settle_feed();
  subscribe("h1");
  const std::int64_t planned = due();
  for (int i = 0; i < 3; ++i) note("h1", PushNote::Kind::fat);
  EXPECT_LE(due(), now() + 60'000);
  write_noted("b");
  EXPECT_LE(due(), now() + 60'000) << "two more may be lost with their worker";
  write_noted("c");
  EXPECT_LE(due(), now() + 60'000);
  write_noted("d");
  EXPECT_EQ(due(), planned);
  // One push is lost: the fetch made for it satisfies all pushes noted before.
  for (int i = 0; i < 2; ++i) note("h1", PushNote::Kind::fat);
  write_noted("e");
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  settle_feed();
  const std::int64_t planned_then = due();
  write_push("f");
  EXPECT_EQ(due(), planned_then);
}

TEST_F(PushesTest, WaitingFeedsGoBeforeLaterOnes) {
  redis({"ZADD", "websub:due", "1", "#h1", "1", "#h2", "1", "#h3"});
  EXPECT_EQ(take_turn("#h1", "1"), 0);
  EXPECT_NEAR(take_turn("#h2", "1"), 3.6e6, 5e3);
  EXPECT_NEAR(std::stod(redis({"ZSCORE", "websub:due", "#h2"})), static_cast<double>(now()) + 3.6e6, 5e3);
  EXPECT_NEAR(take_turn("#h3", "1"), 7.2e6, 5e3);
  // It comes at its turn, but the start before it was half an hour late: it waits for the spacing and keeps its place.
  const std::int64_t half = 1'800'000;
  redis({"HSET", "state:host:hub:hub.example", "last_start", std::to_string(now() - half)});
  EXPECT_NEAR(take_turn("#h2", std::to_string(now() - 1) + ".5"), static_cast<double>(half), 5e3);
  EXPECT_NEAR(take_turn("#h2", std::to_string(now() - 1)), 1.08e7, 5e3) << "who has not waited goes to the end";
  // This does not last: a worker that was suspended comes back with many late turns.
  EXPECT_NEAR(take_turn("#h2", std::to_string(now() - 11 * 3'600'000L) + ".5"), 1.44e7, 5e3);
}

TEST_F(PushesTest, TurnsWaitedForInPlaceLeaveTheSchedule) {
  redis({"ZADD", "websub:due", "7", "#h1", "7", "#h2"});
  EXPECT_EQ(take_turn("#h1", "here"), 0);
  EXPECT_NEAR(take_turn("#h2", "here"), 3.6e6, 5e3);
  EXPECT_NEAR(take_turn("#h3", "here"), 7.2e6, 5e3);
  EXPECT_NEAR(take_turn("#h2", "turn"), 3.6e6, 5e3) << "it keeps its place";
  EXPECT_EQ(redis({"ZSCORE", "websub:due", "#h2"}), "7");
  redis({"HSET", "state:host:hub:hub.example", "last_start", std::to_string(now() - 3'600'000)});
  EXPECT_EQ(take_turn("#h2", "turn"), 0);
}

/// The hub's gate is in this partition, its subscriptions are in another.
TEST_F(PushesTest, TurnsMayBeOfAnotherPartition) {
  HubTurn turn;
  turn.host = "hub.example";
  turn.member = "https://elsewhere.example/feed";
  turn.at_once = 1;
  turn.spacing = 0ms;
  EXPECT_EQ(pushes.take_turn(turn)->count(), 0);
  const std::string first = std::exchange(turn.member, "#h2");
  EXPECT_GT(pushes.take_turn(turn)->count(), 0);
  EXPECT_EQ(redis({"ZCARD", "websub:due"}), "0") << "they are looked after where they are";
  ASSERT_TRUE(pushes.end_turn("hub.example", first));
  EXPECT_EQ(pushes.take_turn(turn)->count(), 0);
  // The other partition remembers the turn like one that was given there.
  redis({"ZADD", "websub:due", "1", "#h3"});
  ASSERT_TRUE(pushes.settle({"#h3", How::turn, 1h, "", "", "", ""}));
  const std::string at = redis({"ZSCORE", "websub:due", "#h3"});
  EXPECT_TRUE(at.ends_with(".5")) << at;
  EXPECT_NEAR(std::stod(at), static_cast<double>(now()) + 3.6e6, 5e3);
}

TEST_F(PushesTest, PostponedRequestsAreNotCounted) {
  begin("h1");
  EXPECT_EQ(settle(How::put_off, "h1").to, "pending");
  EXPECT_FALSE(find("h1"));
  EXPECT_EQ(feed().state.push.standing.tries, 0U);
  EXPECT_EQ(state("push_pending"), "(nil)");
  EXPECT_NEAR(std::stod(redis({"ZSCORE", "websub:due", feed_url})), static_cast<double>(now()) + 3.6e6, 5e3);
  subscribe("h2");
  ASSERT_TRUE(*Feeds(store).remove(feed_url));
  ASSERT_TRUE(*pushes.begin_end("h2"));
  EXPECT_EQ(find("h2")->ends, 1U);
  settle(How::put_off, "h2", "#h2");
  EXPECT_EQ(find("h2")->ends, 0U);
  EXPECT_NEAR(std::stod(redis({"ZSCORE", "websub:due", "#h2"})), static_cast<double>(now()) + 3.6e6, 5e3);
}

// WEBSUB L2
TEST_F(PushesTest, ASubscriptionThatIsReliedOnIsLookedAfterWhenItsLeaseEnds) {
  settle_feed();
  subscribe("h1");
  const std::string lease_end = std::to_string(now() + 600'000);
  const auto look = [&] { return redis({"ZSCORE", "websub:due", feed_url}); };
  redis({"HSET", "websub:callback:h1", "lease_end", lease_end});
  begin("h2");
  EXPECT_EQ(look(), lease_end) << "a renewal that nobody verifies";
  settle(How::again, "h2");
  EXPECT_EQ(look(), lease_end) << "a renewal that fails";
  settle(How::wait);
  EXPECT_EQ(look(), lease_end);
  // The hub must not be asked before the time that it gave, even if that is more than a day ahead.
  redis({"HSET", "websub:callback:h1", "ask_at", std::to_string(now() + 90'000'000)});
  settle(How::lost);
  EXPECT_NEAR(std::stod(look()), static_cast<double>(now()) + 9e7, 5e3);
  settle(How::again);
  EXPECT_NEAR(std::stod(look()), static_cast<double>(now()) + 3.6e6, 5e3) << "nobody relies on it";
}

TEST_F(PushesTest, LeavingIsForgetting) {
  subscribe("h1");
  EXPECT_EQ(settle(How::left).to, "");
  EXPECT_EQ(feed().state.push.standing, PushStanding());
  EXPECT_EQ(count("unproven"), 0U);
  EXPECT_EQ(redis({"ZSCORE", "websub:due", feed_url}), "(nil)");
}

TEST_F(PushesTest, FiveFeedsOfAHubInADayAreItsTroubleOnce) {
  int told = 0;
  for (int i = 0; i < 7; ++i) {
    const std::string url = "https://example.org/" + std::to_string(i);
    add(url);
    PushRecord wanted = record("h" + std::to_string(i));
    wanted.feed_url = url;
    ASSERT_TRUE(*pushes.begin(wanted));
    const auto turn = pushes.settle({url, How::refused, 1h, wanted.hash, "no", "", ""});
    ASSERT_TRUE(turn);
    if (turn->hub_in_trouble) ++told;
    EXPECT_EQ(told, i < 4 ? 0 : 1);
  }
  EXPECT_EQ(told, 1);
  make_push_task_due("https://example.org/6");
  EXPECT_TRUE(pushes.take(1, 5min)->tasks[0].hub_in_trouble);
}

TEST_F(PushesTest, APingMakesAKnownFeedDueOnceInAWhile) {
  const std::vector<std::string> one{feed_url}, three{"https://example.org/unknown", feed_url, "https://other.org/"};
  settle_feed();
  const auto first = pushes.ping(three, 5min);
  ASSERT_TRUE(first && first->size() == 3);
  EXPECT_FALSE(first->at(0) || first->at(2));
  EXPECT_TRUE(first->at(1));
  EXPECT_LE(due(), now());
  EXPECT_EQ(feed().state.due.reason, "ping");
  settle_feed();
  ASSERT_TRUE(pushes.ping(one, 5min)->front());
  EXPECT_NEAR(static_cast<double>(due() - now()), 300'000, 5'000);
}

TEST_F(PushesTest, NoKeyNamesATokenOrASecret) {
  subscribe("h1");
  const std::string all = redis({"EVAL", "return table.concat(redis.call('KEYS', '*'), ' ')", "0"});
  EXPECT_NE(all.find("websub:callback:h1"), std::string::npos);
  EXPECT_EQ(all.find("token-of"), std::string::npos);
  EXPECT_EQ(all.find("secret-of"), std::string::npos);
}

}  // namespace
}  // namespace feedmill::test::pushes_test
