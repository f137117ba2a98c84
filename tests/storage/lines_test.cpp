// Feeds that wait for their host's gate stand in its line (HTTP H1, RELIABILITY I6).
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/feeds/hosts.hpp"
#include "storage/upkeep/verify.hpp"
#include "storage/websub/pushes.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::test::lines_test {
namespace {

using std::chrono::hours;
using Is = HostAnswer::Is;

class Lines : public StoreTest {
 protected:
  /// verify looks into every key.
  Lines() : StoreTest("feedmill_admin") {}

  static std::string feed(int number, const std::string& host = "a.org") {
    return "https://" + host + "/" + std::to_string(number);
  }
  /// Due in the order of their numbers, a while ago.
  void add_many(int count, const std::string& host = "a.org", int first = 0) {
    std::vector<NewFeed> feeds;
    for (int i = first; i < first + count; ++i) feeds.push_back({feed(i, host), {}, "", ""});
    ASSERT_TRUE(Feeds(store).add(feeds));
    const std::int64_t now = store.now()->count();
    std::vector<std::string> words{"ZADD", "schedule"};
    for (int i = first; i < first + count; ++i)
      words.insert(words.end(), {std::to_string(now - 1'000'000 + i), feed(i, host)});
    redis(words);
  }
  ClaimBatch polite(std::size_t max = 100, Milliseconds spacing = {}) {
    return claim(worker_a, max, Milliseconds(90'000), {1, spacing});
  }
  std::vector<std::string> claimed(const ClaimBatch& batch) {
    std::vector<std::string> urls;
    for (const Claim& one : batch.claims) urls.push_back(one.feed_url);
    return urls;
  }
  void answer(const Claim& claimed, Is is = Is::served) {
    Commit commit = plan(claimed, {});
    commit.document = false;
    commit.next_due = claimed.now + hours(4);
    commit.host.is = is;
    if (is == Is::refused) commit.host.cause = "rate_limited";
    send(commit);
  }
  /// The first of a.org is being fetched, all others are in its line.
  Claim crowd(int count) {
    add_many(count);
    ClaimBatch first = polite();
    while (!polite().exhausted) {
    }
    EXPECT_EQ(claimed(first), std::vector{feed(0)});
    EXPECT_EQ(redis({"ZCARD", "line:a.org"}), std::to_string(count - 1));
    EXPECT_EQ(redis({"ZCARD", "schedule"}), "1");
    return first.claims.empty() ? Claim() : first.claims[0];
  }
  std::string line_of(const std::string& url) { return redis({"HGET", "state:feed:" + url, "line"}); }
  bool is_in_line(const std::string& url, const std::string& gate = "a.org") {
    return redis({"ZSCORE", "line:" + gate, url}) != "(nil)";
  }
  bool is_scheduled(const std::string& url) { return redis({"ZSCORE", "schedule", url}) != "(nil)"; }

  std::string findings() {
    const auto all = verify(store);
    EXPECT_TRUE(all) << all.error().detail;
    std::string text;
    for (const Violation& one : *all) text += one.kind + " " + one.feed_url + "\n";
    return text;
  }
  void repair() {
    VerifyOptions options;
    options.journal = [](const Violation&, const std::vector<KeyValue>&) { return true; };
    ASSERT_TRUE(Verifier(store, options).run());
  }
};

TEST_F(Lines, AreGoneThroughByWhenTheirFeedsWereDue) {
  Claim working = crowd(5);
  for (int i = 1; i < 5; ++i) {
    EXPECT_TRUE(polite().claims.empty());
    answer(working);
    const ClaimBatch next = polite();
    ASSERT_EQ(claimed(next), std::vector{feed(i)});
    EXPECT_EQ(line_of(feed(i)), "(nil)");
    EXPECT_LT(next.claims[0].due, next.now - Milliseconds(900'000)) << "when it was due, not when its turn came";
    working = next.claims[0];
  }
  answer(working);
  EXPECT_TRUE(polite().claims.empty());
  EXPECT_EQ(redis({"EXISTS", "lines"}), "0");
  EXPECT_EQ(redis({"HEXISTS", "state:host:a.org", "waiting"}), "0");
}

TEST_F(Lines, NobodyWhoBecomesDuePassesThem) {
  const Claim working = crowd(3);
  answer(working);
  redis({"ZADD", "lines", "XX", std::to_string(store.now()->count() + 60'000), "a.org"});  // nobody has looked yet
  add_many(1, "a.org", 7);
  EXPECT_TRUE(polite().claims.empty());
  EXPECT_TRUE(is_in_line(feed(7)));
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)}) << "and the line is looked at";
}

/// However many wait for one host, a feed of another is found at once, and a claim looks at none of those who wait.
TEST_F(Lines, CostAClaimNothing) {
  crowd(2'000);
  const auto commands = [&] {
    const std::string stats = redis({"INFO", "stats"});
    const std::size_t at = stats.find("total_commands_processed:");
    return std::stoll(stats.substr(at + 25));
  };
  redis({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(polite().exhausted);
  const std::string stats = redis({"INFO", "commandstats"});
  EXPECT_EQ(stats.find("cmdstat_zrem:"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_hset:"), std::string::npos) << stats;
  EXPECT_LT(commands(), 100);
  add_many(1, "b.org");
  EXPECT_EQ(claimed(polite()), std::vector{feed(0, "b.org")});
}

TEST_F(Lines, MoveWhenARequestEndsHoweverItEnds) {
  const Claim working = crowd(5);
  const auto may_start = [&] { return redis({"ZSCORE", "lines", "a.org"}) == "0"; };
  EXPECT_FALSE(may_start());
  ASSERT_TRUE(Ingest(store).release(std::span(&working, 1)));
  EXPECT_TRUE(may_start());
  redis({"ZADD", "schedule", "XX", std::to_string(store.now()->count() + 60'000), feed(0)});

  ClaimBatch next = polite();
  ASSERT_EQ(next.claims.size(), 1U);
  ASSERT_TRUE(Feeds(store).remove(next.claims[0].feed_url));
  EXPECT_TRUE(may_start());

  next = polite();
  ASSERT_EQ(next.claims.size(), 1U);
  answer(next.claims[0]);
  EXPECT_TRUE(may_start());

  // The lease of a worker that died.
  next = claim(worker_a, 1, Milliseconds(1), {1, Milliseconds(0)});
  ASSERT_EQ(next.claims.size(), 1U);
  while (store.now()->count() <= next.now.count() + 1) {
  }
  redis({"ZADD", "lines", "XX", "0", "a.org"});  // a second has passed
  redis({"ZADD", "schedule", "XX", std::to_string(store.now()->count() + 60'000), next.claims[0].feed_url});
  EXPECT_EQ(polite().claims.size(), 1U);
}

TEST_F(Lines, WaitForTheSpacingAndTheBackOff) {
  add_many(3);
  const Milliseconds spacing(60'000);
  const ClaimBatch first = polite(100, spacing);
  ASSERT_EQ(first.claims.size(), 1U);
  ASSERT_TRUE(first.next_due);
  EXPECT_EQ(*first.next_due, first.now + spacing);
  ASSERT_EQ(first.deferred.size(), 2U);
  EXPECT_EQ(first.deferred[0].code, "host_spacing");
  answer(first.claims[0]);
  EXPECT_TRUE(polite(100, spacing).claims.empty());
  redis({"HSET", "state:host:a.org", "last_start", "1"});
  redis({"ZADD", "lines", "XX", "1", "a.org"});
  const ClaimBatch second = polite(100, spacing);
  ASSERT_EQ(claimed(second), std::vector{feed(1)});

  redis({"HSET", "state:host:a.org", "closed", "1", "not_before", std::to_string(store.now()->count() + 900'000)});
  answer(second.claims[0]);
  const ClaimBatch closed = polite(100, spacing);
  EXPECT_TRUE(closed.claims.empty());
  EXPECT_EQ(redis({"ZSCORE", "lines", "a.org"}), redis({"HGET", "state:host:a.org", "not_before"}));
}

/// Who stands in a line stands nowhere else, whatever an operator or a publisher does.
TEST_F(Lines, AreLeftByWhoeverGoesElsewhere) {
  crowd(8);
  ASSERT_EQ(findings(), "");
  ASSERT_TRUE(Feeds(store).pause(std::vector{feed(1)}));
  EXPECT_FALSE(is_in_line(feed(1)) || is_scheduled(feed(1)));
  ASSERT_TRUE(Feeds(store).resume(std::vector{ResumedFeed{feed(1), {}}}, Milliseconds(0)));
  EXPECT_TRUE(is_scheduled(feed(1)));

  ASSERT_TRUE(Feeds(store).remove(feed(2)));
  EXPECT_FALSE(is_in_line(feed(2)) || is_scheduled(feed(2)));

  ASSERT_TRUE(Feeds(store).move(feed(3), "https://b.org/3"));
  EXPECT_TRUE(is_scheduled(feed(3)));
  EXPECT_EQ(claimed(polite()), std::vector{feed(3)}) << "its new host is free";
  EXPECT_EQ(line_of(feed(3)), "(nil)");

  const std::vector<std::string> four{feed(4)};
  EXPECT_EQ(Feeds(store).wake(four, Milliseconds(0), true)->front().result, Wake::Result::due);
  EXPECT_TRUE(Pushes(store).ping(four, Milliseconds(0))->front());
  EXPECT_TRUE(is_in_line(feed(4)) && !is_scheduled(feed(4))) << "it keeps its place";

  const auto records = Feeds(store).records(std::vector{feed(4), feed(5)});
  ASSERT_TRUE(records && (*records)[1] && (*records)[1]->in_line);
  EXPECT_EQ((*records)[0]->in_line->ahead, 0U);
  EXPECT_EQ((*records)[1]->in_line->ahead, 1U);
  EXPECT_LT(*(*records)[1]->due, *store.now());
  EXPECT_EQ(Hosts(store).state("a.org")->waiting, 4U + 1U) << "4 to 7, and who was resumed is looked at once";
  EXPECT_EQ(findings(), "");
}

/// An operator makes a group of hosts, and dissolves it, while feeds wait for one of them.
TEST_F(Lines, FollowTheirFeedsToAnotherGate) {
  const Claim working = crowd(1'200);
  const HostSettings grouped{"a.org", {}, {}, {}, "friends"}, other{"b.org", {}, {}, {}, "friends"};
  ASSERT_TRUE(Hosts(store).set(std::vector{grouped, other}));
  redis({"HSET", "state:host:group:friends", "last_start", std::to_string(store.now()->count() + 60'000)});
  redis({"ZADD", "lines", "XX", "0", "a.org"});
  int calls = 0;
  for (; redis({"EXISTS", "line:a.org"}) == "1" && calls < 20; ++calls) {
    EXPECT_TRUE(polite(100, Milliseconds(1000)).claims.empty());
  }
  EXPECT_LE(calls, 4) << "500 feeds a call";
  EXPECT_EQ(redis({"ZCARD", "line:group:friends"}), "1199");
  EXPECT_EQ(line_of(feed(7)), "group:friends");
  EXPECT_EQ(findings(), "");

  ASSERT_TRUE(Hosts(store).set({}));
  answer(working);
  redis({"ZADD", "lines", "XX", "0", "group:friends"});
  redis({"ZADD", "schedule", "XX", std::to_string(store.now()->count() + 60'000), feed(0)});
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)});
  while (!polite().exhausted) {
  }
  EXPECT_EQ(redis({"ZCARD", "line:a.org"}), "1198");
  EXPECT_EQ(redis({"EXISTS", "line:group:friends"}), "0");
  EXPECT_EQ(findings(), "");
}

/// HTTP H6: who was led here by a redirect has waited at its own host; then the line goes on.
TEST_F(Lines, LetARedirectPassOnce) {
  const Claim working = crowd(4);
  add_many(2, "b.org");
  add_many(1, "c.org");
  const ClaimBatch led = polite();
  ASSERT_EQ(led.claims.size(), 2U);
  const HostLimits limits{1, Milliseconds(0)};
  EXPECT_GT((*Ingest(store).take_slot(led.claims[0], "a.org", limits))->count(), 0);
  answer(working);
  EXPECT_TRUE(polite().claims.empty()) << "the next start is kept for the redirect";
  EXPECT_GT((*Ingest(store).take_slot(led.claims[1], "a.org", limits))->count(), 0) << "and for no other";
  EXPECT_EQ((*Ingest(store).take_slot(led.claims[0], "a.org", limits))->count(), 0);
  EXPECT_LT(std::stoll(redis({"ZSCORE", "lines", "a.org"})), store.now()->count() + 500) << "which comes at once";
  ASSERT_TRUE(Ingest(store).release(std::span(&led.claims[0], 1)));
  EXPECT_GT((*Ingest(store).take_slot(led.claims[1], "a.org", limits))->count(), 0) << "the line is next";
  const auto next = claimed(polite());
  EXPECT_NE(std::find(next.begin(), next.end(), feed(1)), next.end());
}

/// A run --once waits for those that were due when it began, and not for who came later.
TEST_F(Lines, AreWaitedForByARunOnce) {
  const Claim working = crowd(3);
  const Milliseconds begun = *store.now();
  ClaimRequest request;
  request.worker = worker_b;
  request.due_by = begun;
  request.host = {1, Milliseconds(0)};
  const auto ask = [&] {
    request.request = ++requests;
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch);
    return *batch;
  };
  ClaimBatch batch = ask();
  EXPECT_TRUE(batch.claims.empty() && batch.exhausted && batch.next_awaited);
  answer(working);
  for (int i = 1; i < 3; ++i) {
    batch = ask();
    ASSERT_EQ(claimed(batch), std::vector{feed(i)});
    answer(batch.claims[0]);
  }
  EXPECT_FALSE(ask().next_awaited);

  // With a quota each takes its minute, and the others hours.
  redis({"HSET", "state:host:a.org", "q:-", "60000 " + std::to_string(begun.count())});
  redis({"ZADD", "schedule", "XX", "1", feed(1)});
  EXPECT_TRUE(ask().next_awaited);
  request.due_by = begun - Milliseconds(90'001);
  EXPECT_FALSE(ask().next_awaited);
  request.due_by = begun;
  redis({"DEL", "line:a.org"});

  // Behind a back-off of an hour nobody waits.
  add_many(1, "b.org");
  redis({"HSET", "state:host:b.org", "not_before", std::to_string(begun.count() + 3'600'000)});
  batch = ask();
  EXPECT_TRUE(is_in_line(feed(0, "b.org"), "b.org"));
  EXPECT_FALSE(batch.next_awaited);
  redis({"HDEL", "state:host:b.org", "not_before"});
  redis({"ZADD", "lines", "0", "b.org"});
  request.due_by = begun - hours(1);
  batch = ask();
  EXPECT_TRUE(batch.claims.empty() && batch.exhausted);
  EXPECT_FALSE(batch.next_awaited) << "it was due later";
}

/// A build that knows no lines sees fewer feeds, and what it does to them ends well.
TEST_F(Lines, SurviveABuildThatKnowsNone) {
  crowd(6);
  // It pauses, removes, moves and mends: in the schedule and in the feed's state alone.
  redis({"HSET", "state:feed:" + feed(1), "state", "paused", "before_pause", "new", "paused_due", "1"});
  redis({"DEL", "state:feed:" + feed(2)});
  redis({"SREM", "feeds", feed(2)});
  redis({"HSET", "state:feed:" + feed(3), "fetch_url", "https://b.org/3"});
  redis({"ZADD", "schedule", std::to_string(store.now()->count() + 60'000), feed(4)});
  EXPECT_NE(findings().find("line.stray " + feed(4)), std::string::npos);
  redis({"HDEL", "state:host:a.org", "last_start"});
  redis({"DEL", "state:host:a.org"});
  redis({"ZADD", "lines", "XX", "0", "a.org"});
  auto now = claimed(polite());
  std::sort(now.begin(), now.end());
  EXPECT_EQ(now, (std::vector{feed(3), feed(5)}));
  EXPECT_EQ(redis({"EXISTS", "line:a.org"}), "0");
  EXPECT_FALSE(is_scheduled(feed(1)) || is_scheduled(feed(2)));
  EXPECT_TRUE(is_scheduled(feed(4)));
}

TEST_F(Lines, AreMended) {
  crowd(5);
  redis({"DEL", "lines"});
  redis({"ZADD", "schedule", "1", feed(1)});
  redis({"HDEL", "state:feed:" + feed(2), "line"});
  redis({"ZREM", "line:a.org", feed(3)});
  const std::string found = findings();
  EXPECT_NE(found.find("line.stray " + feed(1)), std::string::npos) << found;
  EXPECT_NE(found.find("schedule.missing " + feed(2)), std::string::npos) << found;
  EXPECT_NE(found.find("schedule.missing " + feed(3)), std::string::npos) << found;
  EXPECT_NE(found.find("lines.missing " + feed(4)), std::string::npos) << found;
  repair();
  repair();  // what the first mended of a feed may have hidden
  EXPECT_EQ(findings(), "");
  EXPECT_TRUE(is_in_line(feed(4)));
  EXPECT_TRUE(is_scheduled(feed(1)) && is_scheduled(feed(2)) && is_scheduled(feed(3)));
}

TEST_F(Lines, OfTheWrongTypeStopNobody) {
  add_many(3);
  redis({"SET", "line:a.org", "x"});
  redis({"ZADD", "lines", "0", "a.org", "0", "b.org"});
  EXPECT_EQ(claimed(polite()), std::vector{feed(0)});
  EXPECT_EQ(redis({"ZCARD", "line:a.org"}), "2");
  redis({"SET", "state:feed:" + feed(1), "x"});
  redis({"DEL", "state:host:a.org"});
  redis({"ZADD", "lines", "0", "a.org"});
  const ClaimBatch next = polite();
  EXPECT_EQ(next.refused, std::vector{feed(1)});
  EXPECT_EQ(claimed(next), std::vector{feed(2)});
}

}  // namespace
}  // namespace feedmill::test::lines_test
