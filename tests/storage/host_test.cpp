// The back-off of a host, shared by all workers (HTTP §6, H1, H3–H6).
#include <set>
#include <sstream>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/queues/pushes.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::host_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using test::worker_a;
using test::worker_b;
using Is = HostAnswer::Is;

class HostGates : public test::StoreTest {
 protected:
  static std::string feed(int number, const std::string& host = "a.org") {
    return "https://" + host + "/" + std::to_string(number);
  }
  void add_many(int count, const std::string& host = "a.org") {
    std::vector<NewFeed> feeds;
    for (int i = 0; i < count; ++i) feeds.push_back({feed(i, host), {}, "", ""});
    ASSERT_TRUE(Feeds(store).add(feeds));
  }
  /// Claims with the default host limits, except for the spacing.
  ClaimBatch polite(const std::string& worker = worker_a, std::size_t max = 100, Milliseconds spacing = {}) {
    return claim(worker, max, Milliseconds(90'000), {1, spacing});
  }
  Committed answer(const Claim& claimed, Is is, Milliseconds retry_at = {}, const std::string& host = "") {
    Commit commit = plan(claimed, {});
    commit.document = false;
    commit.next_due = claimed.now + hours(4);
    commit.host.is = is;
    commit.host.server = host;
    if (is == Is::refused) commit.host.cause = "rate_limited";
    commit.host.retry_at = retry_at;
    return send(commit);
  }
  Claim the_one(const ClaimBatch& batch) {
    EXPECT_EQ(batch.claims.size(), 1U);
    return batch.claims.empty() ? Claim() : batch.claims[0];
  }
  std::string host(const std::string& field, const std::string& name = "a.org") {
    return redis({"HGET", "state:host:" + name, field});
  }
  Milliseconds not_before(const std::string& name = "a.org") {
    return Milliseconds(std::stoll("0" + host("not_before", name)));
  }
  /// Refuses two feeds, which closes a.org.
  Committed close() {
    answer(the_one(polite(worker_a, 1)), Is::refused);
    return answer(the_one(polite(worker_a, 1)), Is::refused);
  }
  /// Ends the back-off as far as the host's state is concerned.
  void let_time_pass() {
    redis({"HSET", "state:host:a.org", "not_before", "1"});
    make_all_due();
  }
};

// HTTP H1: a feed that is woken repeatedly must still reach the head of its line.
TEST_F(HostGates, AWishOrAPingKeepsAFeedsPlaceInTheLine) {
  add_many(20);
  const Milliseconds spacing(60'000);
  const Claim first = the_one(polite(worker_a, 100, spacing));
  const std::string line = redis({"ZRANGE", "line:a.org", "0", "-1", "WITHSCORES"});
  std::vector<std::string> waiting;
  for (int i = 0; i < 20; ++i) {
    if (feed(i) != first.feed_url) waiting.push_back(feed(i));
  }
  const auto answers = Feeds(store).wake(waiting, Milliseconds(0), false);
  ASSERT_TRUE(answers);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_EQ((*answers)[i].result, Wake::Result::due);
    EXPECT_EQ(std::to_string((*answers)[i].at.count()), redis({"ZSCORE", "lines", "a.org"}));
    EXPECT_TRUE(Pushes(store).ping(std::span(&waiting[i], 1), Milliseconds(0))->front());
  }
  EXPECT_TRUE(polite(worker_a, 100, spacing).claims.empty());
  EXPECT_EQ(redis({"ZRANGE", "line:a.org", "0", "-1", "WITHSCORES"}), line);
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "1") << "who is being fetched";
}

// HTTP H3
TEST_F(HostGates, OneRefusedFeedOfTwoLeavesTheOtherAlone) {
  add_many(2);
  const Claim first = the_one(polite(worker_a, 1));
  EXPECT_EQ(answer(first, Is::refused, first.now + hours(2)).circuit, Committed::Circuit::unchanged);
  const Claim second = the_one(polite(worker_a, 1));
  EXPECT_NE(second.feed_url, first.feed_url);
  answer(second, Is::served);
  redis({"ZADD", "schedule", "XX", "1", first.feed_url});
  EXPECT_EQ(answer(the_one(polite(worker_a, 1)), Is::refused).circuit, Committed::Circuit::unchanged)
      << "the same feed twice is one";
  EXPECT_EQ(host("closed"), "(nil)");
}

// HTTP H4
TEST_F(HostGates, TwoRefusedFeedsCloseTheHostForAllOfThem) {
  add_many(100);
  add_many(1, "b.org");
  add_many(1, "www.a.org");
  const Committed closed = close();
  EXPECT_EQ(closed.circuit, Committed::Circuit::opened);
  EXPECT_GE(not_before(), *store.now() + minutes(14));
  EXPECT_LE(not_before(), *store.now() + minutes(15));
  EXPECT_EQ(closed.circuit_open_until, not_before());
  EXPECT_EQ(host("cause"), "rate_limited");

  std::set<std::string> claimed;
  for (const std::string& worker : {worker_a, worker_b}) {
    const ClaimBatch batch = polite(worker);
    for (const Claim& one : batch.claims) claimed.insert(one.feed_url);
    for (const auto& deferred : batch.deferred) {
      EXPECT_EQ(deferred.code, "host_backoff");
      EXPECT_GE(deferred.due, not_before());
    }
  }
  EXPECT_EQ(claimed, (std::set<std::string>{"https://b.org/0", "https://www.a.org/0"})) << "never wider than the host";
  EXPECT_EQ(redis({"ZCOUNT", "schedule", "-inf", std::to_string(not_before().count() - 1)}), "2") << "those two";
}

TEST_F(HostGates, ClosedItTellsEachFeedWhy) {
  add_many(3);
  close();
  polite();
  const auto record = Feeds(store).records(std::vector{feed(2)});
  EXPECT_EQ((*record)[0]->state.due.reason, "host_backoff");
  std::istringstream why((*record)[0]->state.due.why);
  std::string code, from;
  std::int64_t seconds = 0;
  why >> code >> seconds >> from;
  EXPECT_EQ(code, "host_backoff");
  EXPECT_EQ(from, "a.org");
  EXPECT_GE(seconds, 14 * 60);
}

TEST_F(HostGates, ItsLongNameCutsTheCodeOfNoReason) {
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b') + ".org";
  add_many(2, name);
  polite();
  std::size_t waiting = 0;
  for (int i = 0; i < 2; ++i) {
    const auto record = Feeds(store).records(std::vector{"https://" + name + "/" + std::to_string(i)});
    const FeedState& state = (*record)[0]->state;
    if (state.due.reason != "host_spacing") continue;
    ++waiting;
    EXPECT_TRUE(state.due.why.starts_with("host_spacing ")) << state.due.why;
    EXPECT_EQ(state.due.why.size(), 63U) << "a piece of 64 bytes would seem to go on";
  }
  EXPECT_EQ(waiting, 1U);
}

TEST_F(HostGates, TheLatestRetryAfterCounts) {
  add_many(3);
  const Claim first = the_one(polite(worker_a, 1));
  answer(first, Is::refused, first.now + hours(2));
  const Claim second = the_one(polite(worker_a, 1));
  answer(second, Is::refused, second.now + hours(1));
  EXPECT_EQ(not_before(), first.now + hours(2));
}

TEST_F(HostGates, RefusalsFarApartDoNotAddUp) {
  add_many(2);
  answer(the_one(polite(worker_a, 1)), Is::refused);
  const auto long_ago = *store.now() - minutes(11);
  redis({"HSET", "state:host:a.org", "refused_at", std::to_string(long_ago.count())});
  EXPECT_EQ(answer(the_one(polite(worker_a, 1)), Is::refused).circuit, Committed::Circuit::unchanged);
}

TEST_F(HostGates, ARequestFromBeforeNeitherOpensNorCounts) {
  add_many(4);
  const ClaimBatch batch = claim(worker_a, 4);
  ASSERT_EQ(batch.claims.size(), 4U);
  answer(batch.claims[0], Is::refused);
  EXPECT_EQ(answer(batch.claims[1], Is::refused).circuit, Committed::Circuit::opened);
  const Milliseconds until = not_before();
  EXPECT_EQ(answer(batch.claims[2], Is::served).circuit, Committed::Circuit::unchanged);
  EXPECT_EQ(not_before(), until);
  answer(batch.claims[3], Is::refused, batch.now + hours(3));
  EXPECT_EQ(not_before(), batch.now + hours(3)) << "but what it asks for is heard";
  EXPECT_EQ(host("refusals"), "1");
}

// HTTP H5
TEST_F(HostGates, OneFeedProbesAndARefusalDoublesTheWait) {
  add_many(20);
  close();
  for (const int quarters : {2, 4, 8, 16, 32, 64, 96, 96}) {
    let_time_pass();
    const Claim probe = the_one(claim(worker_a, 20));  // only one, whatever the concurrency
    EXPECT_TRUE(claim(worker_b, 20).claims.empty()) << "one probes";
    answer(probe, Is::refused);
    EXPECT_GE(not_before(), *store.now() + minutes(15) * quarters - minutes(1)) << quarters;
    EXPECT_LE(not_before(), *store.now() + minutes(15) * quarters) << quarters;
  }
}

TEST_F(HostGates, AProbeThatSaysNothingIsFollowedByAnother) {
  add_many(4);
  close();
  let_time_pass();
  answer(the_one(polite(worker_a, 1)), Is::silent);
  EXPECT_EQ(host("closed"), "1");
  EXPECT_EQ(answer(the_one(polite(worker_a, 1)), Is::served).circuit, Committed::Circuit::closed);
}

TEST_F(HostGates, ADeadWorkersProbeIsFollowedByAnother) {
  add_many(4);
  close();
  let_time_pass();
  ASSERT_EQ(claim(worker_a, 4, Milliseconds(1)).claims.size(), 1U);
  ClaimBatch batch;
  while (batch.claims.empty()) {
    make_all_due();
    batch = polite(worker_b);
  }
  EXPECT_EQ(answer(the_one(batch), Is::served).circuit, Committed::Circuit::closed);
}

TEST_F(HostGates, OpenAgainItIsAskedAtTwiceTheSpacingForTenSuccesses) {
  add_many(40);
  close();
  let_time_pass();
  EXPECT_EQ(answer(the_one(polite(worker_a, 1)), Is::served).circuit, Committed::Circuit::closed);
  EXPECT_EQ(host("slow"), "2");
  EXPECT_EQ(host("not_before"), "(nil)");
  const auto started_ago = [&](Milliseconds ago) {
    redis({"HSET", "state:host:a.org", "last_start", std::to_string((*store.now() - ago).count())});
    make_all_due();
  };
  constexpr Milliseconds hour = hours(1);
  for (int i = 0; i < 10; ++i) {
    started_ago(hour * 3 / 2);
    EXPECT_TRUE(polite(worker_a, 100, hour).claims.empty()) << i << ": an hour and a half is too soon";
    started_ago(hour * 2);
    answer(the_one(polite(worker_a, 1, hour)), Is::served);
  }
  EXPECT_EQ(host("slow"), "(nil)");
  EXPECT_EQ(host("refusals"), "(nil)");
  started_ago(hour);
  EXPECT_EQ(polite(worker_a, 1, hour).claims.size(), 1U);
}

TEST_F(HostGates, RefusedAgainSoonAfterItWaitsLongerAndIsSlowerStill) {
  add_many(10);
  close();
  let_time_pass();
  answer(the_one(polite(worker_a, 1)), Is::served);
  let_time_pass();
  close();
  EXPECT_EQ(host("refusals"), "2");
  EXPECT_GE(not_before(), *store.now() + minutes(29));
  let_time_pass();
  answer(the_one(polite(worker_a, 1)), Is::served);
  EXPECT_EQ(host("slow"), "4");
}

TEST_F(HostGates, FeedsWaitingForABackOffAreReadOnce) {
  add_many(400);
  close();
  make_all_due();
  while (!claim(worker_a, 1, Milliseconds(90'000), {1, Milliseconds(1000)}).exhausted) {
  }
  EXPECT_EQ(redis({"ZCARD", "line:a.org"}), "400");
  EXPECT_EQ(redis({"ZSCORE", "lines", "a.org"}), std::to_string(not_before().count()));
}

// HTTP §4, row 403
TEST_F(HostGates, RemembersForAWeekThatItServed) {
  add_many(2);
  const Claim first = the_one(polite(worker_a, 1));
  EXPECT_EQ(first.host_served_at.count(), 0);
  Commit commit = plan(first, {});
  commit.host = {Is::served, "", "", {}, true, true, true};
  send(commit);
  const Claim second = the_one(polite(worker_a, 1));
  EXPECT_GE(second.host_served_at, first.now);
  EXPECT_TRUE(second.host_identity);
  EXPECT_TRUE(second.host_http1);
  const std::int64_t ttl = std::stoll(redis({"PTTL", "state:host:a.org"}));
  EXPECT_GT(ttl, Milliseconds(hours(24 * 7) - minutes(1)).count());
  EXPECT_LT(ttl, Milliseconds(hours(24 * 7) + minutes(5)).count());
}

TEST_F(HostGates, StateOfAHostThatOnlyFailedExpires) {
  add_many(1);
  answer(the_one(polite(worker_a, 1)), Is::silent);
  EXPECT_LT(std::stoll(redis({"PTTL", "state:host:a.org"})), Milliseconds(minutes(3)).count());
}

// HTTP H6
TEST_F(HostGates, AStrangersSlotEndsSoon) {
  add_many(1);
  add_many(1, "b.org");
  redis({"ZADD", "schedule", "XX", "0", feed(0)});
  const Claim led = the_one(polite(worker_a, 1));
  ASSERT_EQ(led.feed_url, feed(0));
  ASSERT_EQ((*Ingest(store).take_slot(led, "b.org", {1, Milliseconds(0)}, Milliseconds(50)))->count(), 0);
  EXPECT_TRUE(polite(worker_b, 1).claims.empty());
  std::this_thread::sleep_for(Milliseconds(80));
  make_all_due();
  EXPECT_EQ(the_one(polite(worker_b, 2)).feed_url, feed(0, "b.org"));
}

// RELIABILITY L3: the reply to a claim was lost, and other workers used the host until Redis was back.
TEST_F(HostGates, ALateRepeatedBatchPassesTheGatesAgain) {
  add_many(2);
  make_all_due();
  redis({"ZADD", "schedule", "XX", "0", feed(0)});
  const HostLimits limits{2, Milliseconds(200)};
  ASSERT_EQ(the_one(claim(worker_a, 1, Milliseconds(90'000), limits)).feed_url, feed(0));
  std::this_thread::sleep_for(Milliseconds(250));
  ClaimRequest theirs;
  theirs.worker = worker_b;
  theirs.request = 1;
  theirs.max = 1;
  theirs.host = limits;
  ASSERT_EQ(the_one(*Ingest(store).claim(theirs)).feed_url, feed(1));

  --requests;
  const ClaimBatch again = claim(worker_a, 1, Milliseconds(90'000), limits);
  EXPECT_TRUE(again.claims.empty());
  EXPECT_FALSE(again.exhausted);
  EXPECT_EQ(redis({"HMGET", "state:feed:" + feed(0), "claim", "strikes"}), "(nil) (nil)");
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed(0)}), "0");
  EXPECT_TRUE(claim(worker_a, 1, Milliseconds(90'000), limits).claims.empty()) << "the host was just asked";
  std::this_thread::sleep_for(Milliseconds(250));
  EXPECT_EQ(the_one(claim(worker_a, 1, Milliseconds(90'000), limits)).feed_url, feed(0));
}

/// HTTP H10.
class HostQuotas : public HostGates {
 protected:
  Committed tell(const Claim& claimed, Is is, std::optional<ToldQuota> quota = {}, Milliseconds retry_after = {},
                 const std::string& cause = "rate_limited") {
    Commit commit = plan(claimed, {});
    commit.document = false;
    commit.next_due = claimed.now + hours(4);
    commit.host.is = is;
    commit.host.egress = claimed.egress;
    commit.host.quota = quota;
    if (is == Is::refused) {
      commit.host.over_quota = true;
      commit.host.cause = cause;
      if (retry_after.count() > 0) commit.host.retry_at = *store.now() + retry_after;
    }
    return send(commit);
  }
  Claim next(const std::string& egress = "") {
    make_all_due();
    redis({"ZADD", "schedule", "XX", "0", feed(++turn % 10)});
    return the_one(claim(worker_a, 1, Milliseconds(90'000), {1, Milliseconds(0), egress}));
  }
  bool is_open(const std::string& egress = "") {
    make_all_due();
    const ClaimBatch batch = claim(worker_b, 1, Milliseconds(90'000), {1, Milliseconds(0), egress});
    EXPECT_TRUE(Ingest(store).release(batch.claims));
    return !batch.claims.empty();
  }
  HostQuota quota(std::size_t i = 0) {
    const std::string name = "a.org";
    const auto state = Hosts(store).state(name);
    return state && i < state->quotas.size() ? state->quotas[i] : HostQuota();
  }
  /// Sets the numbers of a quota and clears the recent history.
  void set(const std::string& numbers, const std::string& name = "-") {
    redis({"HSET", "state:host:a.org", "q:" + name, numbers});
    redis({"HDEL", "state:host:a.org", "refused_by", "refused_at", "last_start"});
  }
  /// Ends the quota's `hold`, and moves the last start one pace into the past.
  void let_quota_pass() {
    const std::string pace = std::to_string(quota().pace.count());
    redis({"HSET", "state:host:a.org", "q:-", pace + " " + std::to_string((*store.now() - quota().pace).count())});
  }
  int turn = 0;
};

TEST_F(HostQuotas, AnnouncedOnesBindTheWholeFleet) {
  add_many(3);
  const Claim claimed = next();
  tell(claimed, Is::served, ToldQuota{minutes(2), minutes(1), minutes(5)});
  EXPECT_TRUE(quota().told);
  EXPECT_EQ(quota().pace, minutes(1));
  EXPECT_GE(quota().hold, claimed.now + minutes(2));
  EXPECT_FALSE(is_open());
  set("60000 1 0 1");
  EXPECT_TRUE(is_open());
  tell(next(), Is::served, ToldQuota{Milliseconds(10), Milliseconds(10), Milliseconds(10)});
  EXPECT_EQ(quota(), HostQuota()) << "it asks for nothing any more";
}

TEST_F(HostQuotas, ARefusalAfterAnAnswerQuadruplesThePace) {
  add_many(10);
  for (const int pace : {4, 16, 64}) {
    const Claim claimed = next();
    tell(claimed, Is::refused);
    EXPECT_EQ(quota().pace, std::chrono::seconds(pace));
    EXPECT_FALSE(quota().told);
    EXPECT_GE(quota().hold, claimed.now + minutes(1));
    EXPECT_LE(quota().hold, *store.now() + std::max(minutes(1), minutes(pace / 60 + 1)));
    EXPECT_EQ(host("closed"), "(nil)");
    EXPECT_FALSE(is_open());
    let_quota_pass();
    tell(next(), Is::served);
    let_quota_pass();
  }
}

TEST_F(HostQuotas, ARetryAfterOfOneFeedHoldsTheOthersForTenMinutesAtMost) {
  add_many(3);
  const Claim claimed = next();
  tell(claimed, Is::refused, {}, hours(5));
  EXPECT_GE(quota().hold, claimed.now + minutes(10));
  EXPECT_LE(quota().hold, *store.now() + minutes(10));
}

TEST_F(HostQuotas, OnlyRefusalsInARowOpenTheCircuitOfAPacedHost) {
  add_many(10);
  tell(next(), Is::refused);
  let_quota_pass();
  tell(next(), Is::served);
  let_quota_pass();
  EXPECT_EQ(tell(next(), Is::refused).circuit, Committed::Circuit::unchanged);
  let_quota_pass();
  EXPECT_EQ(tell(next(), Is::refused).circuit, Committed::Circuit::opened);
}

TEST_F(HostQuotas, A403MayBeForOneWhereAnotherFeedWasRefusedToo) {
  add_many(10);
  tell(next(), Is::refused, {}, {}, "forbidden");
  EXPECT_EQ(quota(), HostQuota()) << "of one feed alone";
  EXPECT_EQ(tell(next(), Is::refused, {}, {}, "forbidden").circuit, Committed::Circuit::unchanged);
  EXPECT_EQ(quota().pace, std::chrono::seconds(4));
  let_quota_pass();
  EXPECT_EQ(tell(next(), Is::refused, {}, {}, "forbidden").circuit, Committed::Circuit::opened);
}

// Order of the numbers: pace start apart hold good bad calm try_at rest told_at
TEST_F(HostQuotas, AShorterPaceIsTriedAfterThirtyAnswersUntilItIsKnownWithinAFifth) {
  add_many(2);
  const auto answered = [&](const std::string& numbers, Is is = Is::served) {
    set(numbers);
    tell(next(), is);
    return redis({"HGET", "state:host:a.org", "q:-"});
  };
  const std::string start = std::to_string((*store.now() - minutes(1)).count());
  EXPECT_TRUE(answered("60000 " + start + " 60000 0 0 15000 28").starts_with("60000 ")) << "29 are too few";
  EXPECT_TRUE(answered("60000 " + start + " 60000 0 0 15000 29").starts_with("30000 "));
  EXPECT_TRUE(answered("60000 " + start + " 60000 0 0 40000 29").starts_with("48989 ")) << "between the two";
  EXPECT_TRUE(answered("30000 " + start + " 30000 0 60000 15000 3", Is::refused).starts_with("60000 "))
      << "as it was before";
  const std::string long_ago = std::to_string((*store.now() - hours(1)).count());
  EXPECT_TRUE(answered("30000 " + long_ago + " 60000 0 0 15000 29").starts_with("30000 ")) << "nobody hurried";
  EXPECT_TRUE(answered("60000 " + start + " 60000 0 60000 51000 29").starts_with("60000 ")) << "known well enough";
  EXPECT_TRUE(answered("60000 " + start + " 60000 0 60000 51000 29 1 1000").starts_with("51000 ")) << "tried again";
}

TEST_F(HostQuotas, EachNameHasItsOwnAndBeginsWithThatOfTheOthers) {
  add_many(10);
  tell(next("one"), Is::served, ToldQuota{minutes(1), minutes(1), minutes(5)});
  EXPECT_FALSE(is_open("one"));
  const Claim other = next("two");
  tell(other, Is::silent);
  EXPECT_FALSE(is_open("two")) << "at the pace of the other";
  EXPECT_EQ(quota(0).egress, "one");
  EXPECT_EQ(quota(1).egress, "two");
  EXPECT_EQ(quota(1).pace, minutes(1));
  for (int i = 0; i < 20; ++i) {
    redis({"HSET", "state:host:a.org", "last_start", "1"});
    tell(next("name" + std::to_string(i)), Is::served, ToldQuota{minutes(1), minutes(1), minutes(5)});
  }
  const std::string name = "a.org";
  EXPECT_LE(Hosts(store).state(name)->quotas.size(), 16U);
}

TEST_F(HostQuotas, RefusalsUnderTwoNamesAreNoneInARow) {
  add_many(10);
  tell(next("one"), Is::refused);
  EXPECT_EQ(tell(next("two"), Is::refused).circuit, Committed::Circuit::unchanged);
  redis({"HSET", "state:host:a.org", "q:two", "16000 1"});
  EXPECT_EQ(tell(next("two"), Is::refused).circuit, Committed::Circuit::opened);
}

TEST_F(HostQuotas, AnnouncedOnesEndWithTheirReset) {
  add_many(3);
  tell(next(), Is::served, ToldQuota{minutes(10), minutes(10), minutes(30)});
  EXPECT_FALSE(is_open());
  const std::string told_at = std::to_string((*store.now() - minutes(31)).count());
  const std::string told_until = std::to_string((*store.now() - minutes(1)).count());
  set("3600000 " + told_at + " 9000000000000 3600 0 0 0 0 0 " + told_at + " " + told_until);
  EXPECT_EQ(quota(), HostQuota());
  EXPECT_TRUE(is_open());
  const std::string day_ago = std::to_string((*store.now() - hours(25)).count());
  set("3600000 " + day_ago + " 9000000000000 3600 0 0 0 0 0 " + day_ago);
  EXPECT_TRUE(is_open()) << "an earlier build's, which does not say how long it holds";
}

TEST_F(HostQuotas, AnnouncedOnesEndWithAnAnswerThatOmitsThem) {
  add_many(3);
  tell(next(), Is::served, ToldQuota{minutes(10), minutes(10), minutes(30)});
  EXPECT_FALSE(is_open());
  const std::int64_t now = store.now()->count();
  set("600000 1 600000 1 0 0 0 0 0 " + std::to_string(now - 1000) + " " + std::to_string(now + 600'000));
  tell(next(), Is::served);
  EXPECT_EQ(quota(), HostQuota());
  EXPECT_TRUE(is_open());
}

TEST_F(HostQuotas, OfMoreThanAnHourBindOthersOnceTwoFeedsGotThem) {
  add_many(4);
  const ToldQuota a_day{hours(24), hours(24), hours(24)};
  tell(next(), Is::served, a_day);
  EXPECT_EQ(quota(), HostQuota()) << "one feed's word";
  EXPECT_TRUE(is_open());
  tell(next(), Is::served, a_day);
  EXPECT_EQ(quota().pace, hours(24));
  EXPECT_FALSE(is_open());
}

TEST_F(HostQuotas, OfMoreThanAnHourDoNotBindOthersWhenOnlyOneFeedRepeatsThem) {
  add_many(1);
  for (int i = 0; i < 3; ++i) {
    redis({"ZADD", "schedule", "XX", "0", feed(0)});
    tell(the_one(polite()), Is::served, ToldQuota{hours(24), hours(24), hours(24)});
    EXPECT_EQ(quota(), HostQuota());
  }
}

TEST_F(HostQuotas, AnnouncedOnesAllowOneWishOfAnOperator) {
  add_many(3);
  tell(next(), Is::served, ToldQuota{minutes(20), minutes(20), minutes(30)});
  EXPECT_TRUE(quota().open_to_wish);
  EXPECT_FALSE(is_open()) << "and its feeds stand in the line";
  const auto wish = [&](int i) {
    const auto woken = Feeds(store).wake(std::vector<std::string>{feed(i)}, Milliseconds(0), true);
    EXPECT_TRUE(woken);
    redis({"HDEL", "state:host:a.org", "last_start"});
    const ClaimBatch batch = polite(worker_b, 7 + i);
    return batch.claims.empty() ? std::string() : batch.claims[0].feed_url;
  };
  EXPECT_EQ(wish(1), feed(1));
  EXPECT_FALSE(quota().open_to_wish);
  EXPECT_EQ(wish(2), "") << "one until the reset";
}

TEST_F(HostQuotas, AreThoseOfOnePort) {
  add_many(1);
  const std::string other = "http://a.org:8080/feed";
  add(other);
  redis({"ZADD", "schedule", "XX", "0", other});
  const Claim claimed = the_one(polite(worker_a, 1));
  ASSERT_EQ(claimed.feed_url, other);
  tell(claimed, Is::served, ToldQuota{minutes(10), minutes(10), minutes(30)});
  EXPECT_EQ(quota(), HostQuota());
  EXPECT_TRUE(Hosts(store).state("a.org:8080")->quotas.at(0).told);
  EXPECT_EQ(Hosts(store).state("a.org")->last_start, claimed.now) << "the spacing is that of the host";
  const ClaimBatch too_soon = polite(worker_a, 5, minutes(1));
  EXPECT_TRUE(too_soon.claims.empty());
  redis({"HDEL", "state:host:a.org", "last_start"});
  EXPECT_TRUE(is_open());
}

TEST_F(HostQuotas, StayUntilAFeedOfTheHostItselfIsServedWithoutOne) {
  add_many(3);
  const auto told = [this] {  // a minute apart, announced for five minutes; the last start was two minutes ago
    const std::int64_t now = store.now()->count();
    return "60000 " + std::to_string(now - 120'000) + " 60000 0 0 0 0 0 0 " + std::to_string(now) + " " +
           std::to_string(now + 300'000);
  };
  set(told());
  Commit moved = plan(next(), {});
  moved.host.is = Is::served;
  moved.host.shows_no_limits = true;
  send(moved);
  EXPECT_TRUE(quota().told) << "the feed moved here from another site";
  set(told());
  tell(next(), Is::served);
  EXPECT_EQ(quota(), HostQuota());
}

TEST_F(HostQuotas, TheSpacingOfItsOperatorWins) {
  add_many(3);
  tell(next(), Is::served, ToldQuota{minutes(2), minutes(1), minutes(5)});
  EXPECT_FALSE(is_open());
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"a.org", {}, Milliseconds(0), {}, ""}}));
  EXPECT_TRUE(is_open());
}

TEST_F(HostQuotas, ARedirectWaitsForThemToo) {
  add_many(1);
  add_many(1, "b.org");
  const ClaimBatch batch = polite();
  ASSERT_EQ(batch.claims.size(), 2U);
  const Claim &led = batch.claims[0].feed_url == feed(0, "b.org") ? batch.claims[0] : batch.claims[1],
              &there = batch.claims[0].feed_url == feed(0) ? batch.claims[0] : batch.claims[1];
  tell(there, Is::served, ToldQuota{minutes(2), minutes(1), minutes(5)});
  const auto wait = Ingest(store).take_slot(led, "a.org", {1, Milliseconds(0)}, minutes(5));
  EXPECT_GT(**wait, minutes(1));
}

TEST_F(HostQuotas, WithoutAnyNothingIsWrittenOfThem) {
  add_many(2);
  tell(next(), Is::served);
  tell(next(), Is::served, ToldQuota{Milliseconds(20), Milliseconds(20)});
  EXPECT_EQ(redis({"HKEYS", "state:host:a.org"}), "last_start");
}

/// HTTP H11.
class HostStorms : public HostGates {
 protected:
  Claim next() {
    make_all_due();
    return the_one(polite(worker_a, 1));
  }
  /// Commits an answer to a claimed feed. `cause`: reason of its failure, "" if it was served.
  Committed say(const Claim& claimed, const std::string& cause, Is is = Is::served) {
    Commit commit = plan(claimed, {});
    commit.document = false;
    commit.next_due = claimed.now + hours(4);
    commit.host.is = is;
    commit.host.cause = cause;
    commit.host.document = is == Is::served && cause.empty();
    return send(commit);
  }
  Committed fail(int number, const std::string& cause = "status.not_found", Is is = Is::served) {
    redis({"ZADD", "schedule", "XX", "1", feed(number)});
    const std::string url = feed(number);
    ClaimRequest request;
    request.worker = worker_a;
    request.request = ++requests;
    request.host = {1, Milliseconds(0)};
    request.only = {url};
    const auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch);
    return batch && batch->claims.size() == 1 ? say(batch->claims[0], cause, is) : Committed();
  }
  void begin() {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(fail(i).circuit, Committed::Circuit::unchanged);
    EXPECT_EQ(fail(4).circuit, Committed::Circuit::storm);
  }
  Milliseconds waits() { return not_before() - *store.now(); }
};

TEST_F(HostStorms, BeginWithFiveFeedsThatFailInWhateverWay) {
  add_many(10);
  fail(0);
  fail(0);
  fail(1, "status.server", Is::silent);
  fail(2, "parse.empty");
  EXPECT_EQ(fail(3, "parse.not_a_feed").circuit, Committed::Circuit::unchanged) << "one of the five failed twice";
  const Committed begun = fail(4);
  EXPECT_EQ(begun.circuit, Committed::Circuit::storm);
  EXPECT_EQ(begun.circuit_open_until, not_before());
  EXPECT_LE(waits(), minutes(1));
  EXPECT_GE(waits(), Milliseconds(50'000));
  const std::string name = "a.org";
  EXPECT_GT(Hosts(store).state(name)->storm.count(), 0);
  make_all_due();
  const ClaimBatch batch = polite();
  EXPECT_TRUE(batch.claims.empty());
  ASSERT_EQ(batch.deferred.size(), 10U);
  EXPECT_EQ(batch.deferred[0].code, "host_backoff");
}

TEST_F(HostStorms, AreNoneWhereHalfAreServed) {
  add_many(20);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(say(next(), "").circuit, Committed::Circuit::unchanged);
    EXPECT_EQ(host("window"), "(nil)") << "nothing is kept of a host that serves";
  }
  for (int i = 0; i < 4; ++i) fail(i);
  for (int i = 10; i < 16; ++i) fail(i, "");
  EXPECT_EQ(fail(4).circuit, Committed::Circuit::unchanged) << "5 of 11";
  EXPECT_EQ(fail(5).circuit, Committed::Circuit::storm) << "6 of 12";
}

TEST_F(HostStorms, AreNoneOfFeedsThatFailFarApart) {
  add_many(10);
  for (int i = 0; i < 4; ++i) fail(i);
  const std::string window = host("window");
  const std::string numbers = window.substr(window.find(' '));
  redis({"HSET", "state:host:a.org", "window", std::to_string((*store.now() - minutes(61)).count()) + numbers});
  EXPECT_EQ(fail(4).circuit, Committed::Circuit::unchanged);
  EXPECT_LT(host("window").size(), 120U);
}

TEST_F(HostStorms, AskWithAnotherFeedEachTimeAndEverMoreSeldom) {
  add_many(10);
  begin();
  make_all_due();
  std::set<std::string> asked;
  const Milliseconds storm(std::stoll(host("storm")));
  for (const int minute : {2, 4, 8, 16, 30, 30}) {
    redis({"HSET", "state:host:a.org", "not_before", "1"});
    redis({"ZUNIONSTORE", "lines", "1", "lines", "WEIGHTS", "0"});
    const Claim probe = the_one(polite(worker_a, 1));
    EXPECT_TRUE(asked.insert(probe.feed_url).second) << probe.feed_url << " has asked before";
    EXPECT_EQ(probe.host_storm, storm);
    redis({"ZUNIONSTORE", "lines", "1", "lines", "WEIGHTS", "0"});
    EXPECT_TRUE(polite(worker_b).claims.empty()) << "one asks";
    EXPECT_EQ(say(probe, "status.not_found").circuit, Committed::Circuit::unchanged);
    EXPECT_GE(waits(), minutes(minute) - minutes(1));
    EXPECT_LE(waits(), minutes(minute));
  }
}

TEST_F(HostStorms, AreOverWhenThreeInARowAreServed) {
  add_many(10);
  const auto probe = [&](const std::string& cause) {
    redis({"HSET", "state:host:a.org", "not_before", "1"});
    return say(next(), cause).circuit;
  };
  begin();
  EXPECT_EQ(probe(""), Committed::Circuit::unchanged);
  EXPECT_EQ(probe(""), Committed::Circuit::unchanged);
  EXPECT_EQ(probe("status.gone"), Committed::Circuit::unchanged);
  EXPECT_EQ(probe(""), Committed::Circuit::unchanged);
  EXPECT_EQ(probe(""), Committed::Circuit::unchanged);
  EXPECT_EQ(probe(""), Committed::Circuit::storm_over);
  for (const char* field : {"storm", "closed", "not_before", "slow", "cause"}) EXPECT_EQ(host(field), "(nil)") << field;
  EXPECT_EQ(redis({"ZCARD", "state:hosts:closed"}), "0");
  make_all_due();
  EXPECT_EQ(polite(worker_a, 1).claims.size(), 1U);
}

TEST_F(HostStorms, ThatCameAgainAreOverWhenMoreAreServed) {
  add_many(10);
  begin();
  redis({"HSET", "state:host:a.org", "storm_served", "2", "not_before", "1"});
  EXPECT_EQ(say(next(), "").circuit, Committed::Circuit::storm_over);
  begin();
  EXPECT_EQ(host("storm_need"), "6");
}

TEST_F(HostStorms, OfAWeekAreNone) {
  add_many(10);
  begin();
  const Milliseconds long_ago = *store.now() - hours(7 * 24);
  redis({"HSET", "state:host:a.org", "storm", std::to_string(long_ago.count()), "not_before", "1"});
  EXPECT_EQ(say(next(), "status.not_found").circuit, Committed::Circuit::storm_over);
  EXPECT_EQ(host("slow"), "16");
  for (int i = 0; i < 10; ++i) {
    redis({"HDEL", "state:host:a.org", "last_start"});
    EXPECT_EQ(fail(i).circuit, Committed::Circuit::unchanged) << "not before it has served";
  }
}

// HTTP H6
TEST_F(HostGates, ARedirectTakesASlotWhereItLeads) {
  add_many(1);
  add_many(2, "b.org");
  const ClaimBatch batch = polite();
  ASSERT_EQ(batch.claims.size(), 2U);
  const Claim &led = batch.claims[0].feed_url == feed(0) ? batch.claims[0] : batch.claims[1],
              &there = batch.claims[0].feed_url == feed(0) ? batch.claims[1] : batch.claims[0];
  const HostLimits limits{1, Milliseconds(0)};
  EXPECT_GT((*Ingest(store).take_slot(led, "b.org", limits, minutes(5)))->count(), 0) << "b.org is busy";
  answer(there, Is::served);
  EXPECT_EQ((*Ingest(store).take_slot(led, "b.org", limits, minutes(5)))->count(), 0);
  EXPECT_EQ((*Ingest(store).take_slot(led, "b.org", limits, minutes(5)))->count(), 0) << "it has it already";
  make_all_due();
  EXPECT_TRUE(polite(worker_b).claims.empty()) << "the slot is taken";
  answer(led, Is::served, {}, "b.org");
  make_all_due();
  EXPECT_EQ(polite(worker_b).claims.size(), 2U) << "it ends with the commit";
  EXPECT_FALSE(Ingest(store).take_slot(led, "b.org", limits, minutes(5))->has_value()) << "the claim is over";
}

/// HTTP P15: wherever the chain was in between.
TEST_F(HostGates, TheHopsOfAChainAreSpacedToo) {
  add_many(2);
  const HostLimits limits{1, minutes(1)};
  const Claim led = the_one(polite(worker_a, 1));
  const auto wait = [&](const std::string& at) { return **Ingest(store).take_slot(led, at, limits, minutes(5)); };
  EXPECT_EQ(wait("b.org"), Milliseconds(0));
  for (const std::string at : {"a.org", "b.org"}) {
    EXPECT_GT(wait(at), Milliseconds(0)) << at;
    EXPECT_LE(wait(at), Milliseconds(5'000)) << "a chain does not end at a slow pace";
    redis({"HSET", "state:host:" + at, "last_start", "1"});
    EXPECT_EQ(wait(at), Milliseconds(0)) << at;
    EXPECT_GT(std::stoll(host("last_start", at)), 1) << "the next one waits for this start";
    EXPECT_GT(wait(at), Milliseconds(0)) << at;
  }
  answer(led, Is::served);
  make_all_due();
  EXPECT_TRUE(polite(worker_b, 1, minutes(1)).claims.empty()) << "other feeds wait for the chain's last start";
}

TEST_F(HostGates, ASlotElsewhereEndsWithTheReleaseToo) {
  add_many(1);
  add_many(1, "b.org");
  const ClaimBatch batch = claim(worker_a, 1);
  const std::string other = batch.claims[0].feed_url == feed(0) ? "b.org" : "a.org";
  ASSERT_EQ((*Ingest(store).take_slot(batch.claims[0], other, {1, Milliseconds(0)}, minutes(5)))->count(), 0);
  EXPECT_EQ(redis({"HEXISTS", "state:host:" + other, "s:" + batch.claims[0].id}), "1");
  ASSERT_TRUE(Ingest(store).release(batch.claims));
  EXPECT_EQ(redis({"HEXISTS", "state:host:" + other, "s:" + batch.claims[0].id}), "0");
}

TEST_F(HostGates, ARedirectMayNotGoToAHostThatIsClosed) {
  add_many(4);
  add_many(1, "b.org");
  close();
  const Claim led = the_one(polite(worker_a, 1));
  ASSERT_EQ(led.feed_url, feed(0, "b.org"));
  EXPECT_GT(**Ingest(store).take_slot(led, "a.org", {64, Milliseconds(0)}, minutes(5)), minutes(14));
  answer(led, Is::refused, {}, "a.org");
  EXPECT_EQ(host("closed", "b.org"), "(nil)") << "who answered is who is meant";
}

// HTTP N2
TEST_F(HostGates, PullsBackDueTimesAfterAClockStep) {
  add_many(1);
  const auto year = std::to_string((*store.now() + hours(24 * 365)).count());
  redis({"ZADD", "schedule", "XX", year, feed(0)});
  EXPECT_TRUE(polite().claims.empty());
  const Milliseconds due(std::stoll(redis({"ZSCORE", "schedule", feed(0)})));
  EXPECT_LE(due, *store.now() + hours(24));
  EXPECT_GE(due, *store.now() + hours(23));
}

}  // namespace
}  // namespace feedmill::host_test
