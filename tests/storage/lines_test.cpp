// Feeds that wait for their host's gate are queued in the host's line (HTTP H1, RELIABILITY I6).
#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/feeds/fleet.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/queues/pushes.hpp"
#include "storage/upkeep/verify.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::lines_test {
namespace {

using std::chrono::hours;
using Is = HostAnswer::Is;

class Lines : public StoreTest {
 protected:
  /// As the administrator, because verify reads every key.
  Lines() : StoreTest("feedmill_admin") {}

  static std::string feed(int number, const std::string& host = "a.org") {
    return "https://" + host + "/" + std::to_string(number);
  }
  /// Adds feeds that became due some time ago, in the order of their numbers.
  void add_many(int count, const std::string& host = "a.org", int first = 0) {
    std::vector<NewFeed> feeds;
    for (int i = first; i < first + count; ++i) feeds.push_back({feed(i, host), {}, "", ""});
    ASSERT_TRUE(Feeds(store).add(feeds));
    const std::int64_t now = store.now()->count();
    for (int i = first; i < first + count;) {
      std::vector<std::string> words{"ZADD", "schedule"};
      for (const int end = std::min(i + 1000, first + count); i < end; ++i)
        words.insert(words.end(), {std::to_string(now - 1'000'000 + i), feed(i, host)});
      redis(words);
    }
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
  /// Adds feeds of a.org; the first one is being fetched then, and all others are in the line.
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

  /// The number of commands that the server executes during `work`, including those in scripts.
  int commands_of(const std::function<void()>& work) {
    redis({"CONFIG", "RESETSTAT"});
    work();
    std::istringstream stats(redis({"INFO", "commandstats"}));
    int all = 0;
    for (std::string line; std::getline(stats, line);) {
      const std::size_t at = line.find(":calls=");
      if (at != std::string::npos) all += std::stoi(line.substr(at + 7));
    }
    return all;
  }
  /// The feed's position as shown to a viewer.
  std::optional<FeedRecord::InLine> place(const std::string& url) {
    const auto records = Feeds(store).records(std::span(&url, 1));
    EXPECT_TRUE(records && records->front());
    return records->front()->in_line;
  }
  /// Makes a gate's next start come now, as far as time is concerned.
  void let_start(const std::string& gate = "a.org") { redis({"ZADD", "lines", "XX", "0", gate}); }

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

TEST_F(Lines, NewlyDueFeedsDoNotOvertakeThem) {
  const Claim working = crowd(3);
  answer(working);
  redis({"ZADD", "lines", "XX", std::to_string(store.now()->count() + 60'000), "a.org"});  // not examined yet
  add_many(1, "a.org", 7);
  EXPECT_TRUE(polite().claims.empty());
  EXPECT_TRUE(is_in_line(feed(7)));
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)}) << "and the line is looked at";
}

/// However long one host's line is, a feed of another host is found at once, and a claim reads none of the line.
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

  // A worker died during its lease.
  next = claim(worker_a, 1, Milliseconds(1), {1, Milliseconds(0)});
  ASSERT_EQ(next.claims.size(), 1U);
  while (store.now()->count() <= next.now.count() + 1) {
  }
  redis({"ZADD", "lines", "XX", "0", "a.org"});  // a second later
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

/// A feed in a line is in no other queue, whatever an operator or a publisher does.
TEST_F(Lines, AreLeftByFeedsThatMoveElsewhere) {
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

/// An operator groups hosts, and dissolves the group, while feeds wait for one of these hosts.
TEST_F(Lines, FollowTheirFeedsToAnotherGate) {
  const Claim working = crowd(1'200);
  const HostSettings grouped{"a.org", {}, {}, {}, "friends"}, other{"b.org", {}, {}, {}, "friends"};
  ASSERT_TRUE(Hosts(store).set(std::vector{grouped, other}));
  redis({"HSET", "state:host:group:friends", "last_start", std::to_string(store.now()->count() + 60'000)});
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
  EXPECT_EQ(redis({"ZSCORE", "lines", "group:friends"}), "0") << "nobody waits for the minute of the group";
  redis({"ZADD", "schedule", "XX", std::to_string(store.now()->count() + 60'000), feed(0)});
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)});
  while (!polite().exhausted) {
  }
  EXPECT_EQ(redis({"ZCARD", "line:a.org"}), "1198");
  EXPECT_EQ(redis({"EXISTS", "line:group:friends"}), "0");
  EXPECT_EQ(findings(), "");
}

/// A changed setting of a host applies to feeds that are already waiting. A worker that starts with unchanged settings
/// changes nothing.
TEST_F(Lines, AreLookedAtWhenTheirHostHasOtherSettings) {
  crowd(3);
  const auto next_start = [&] { return redis({"ZSCORE", "lines", "a.org"}); };
  const auto set = [&](const std::vector<HostSettings>& all) { ASSERT_TRUE(Hosts(store).set(all)); };
  const HostSettings slow{"a.org", {}, hours(1), {}, ""}, other{"b.org", {}, hours(1), {}, ""};
  set({slow});
  EXPECT_EQ(next_start(), "0");
  EXPECT_TRUE(polite().claims.empty());
  const std::string in_an_hour = next_start();
  EXPECT_GT(std::stoll(in_an_hour), store.now()->count() + 3'000'000);
  set({slow});
  set({slow, other});
  set({other, slow});
  EXPECT_EQ(next_start(), in_an_hour);
  set({other});
  EXPECT_EQ(next_start(), "0") << "it is as fast as others again";
}

/// A feed that moves to another host joins the end of that host's line and leaves the old one; the same applies when it
/// moves back.
TEST_F(Lines, HaveAMovedFeedWaitOnce) {
  const Claim at_a = crowd(4);
  add_many(3, "b.org");
  const ClaimBatch batch = polite();
  ASSERT_EQ(claimed(batch), std::vector{feed(0, "b.org")});
  const auto waits_at = [&](const std::string& gate) {
    EXPECT_TRUE(polite().claims.empty());
    EXPECT_FALSE(is_scheduled(feed(2)));
    EXPECT_EQ(is_in_line(feed(2), "a.org"), gate == "a.org");
    EXPECT_EQ(is_in_line(feed(2), "b.org"), gate == "b.org");
    EXPECT_EQ(line_of(feed(2)), gate);
    EXPECT_EQ(findings(), "");
  };
  ASSERT_TRUE(Feeds(store).move(feed(2), "https://b.org/moved"));
  EXPECT_TRUE(is_scheduled(feed(2)) && line_of(feed(2)) == "(nil)");
  EXPECT_EQ(findings(), "");
  waits_at("b.org");
  EXPECT_EQ(place(feed(2))->ahead, 2U);
  EXPECT_EQ(Hosts(store).state("a.org")->waiting, 2U);

  ASSERT_EQ(*Feeds(store).undo_move(feed(2)), MoveResult::moved);
  EXPECT_EQ(findings(), "");
  waits_at("a.org");
  EXPECT_EQ(place(feed(2))->ahead, 2U) << "behind 1 and 3, who have waited for longer";
  answer(batch.claims[0]);
  EXPECT_EQ(claimed(polite()), std::vector{feed(1, "b.org")});

  ASSERT_TRUE(Feeds(store).move(feed(2), "https://b.org/moved"));
  waits_at("b.org");
  answer(at_a);
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)}) << "it has left its first host to the others";
}

/// HTTP R5: after the commit that ends its probation, a feed waits in the line of its new host.
TEST_F(Lines, AreChangedByTheEndOfAProbation) {
  const Claim working = crowd(3);
  add_many(2, "b.org");
  ASSERT_EQ(polite().claims.size(), 1U) << "b.org is busy";
  Commit commit = plan(working, {});
  commit.document = false;
  commit.next_due = working.now + hours(1);
  commit.move_to = commit.state.address.fetch_url = "https://b.org/moved";
  send(commit);
  EXPECT_EQ(redis({"ZSCORE", "lines", "a.org"}), "0") << "its request was one to the old host";
  redis({"ZADD", "schedule", "XX", "1", feed(0)});
  EXPECT_EQ(claimed(polite()), std::vector{feed(1)});
  EXPECT_EQ(line_of(feed(0)), "b.org");
  EXPECT_EQ(place(feed(0))->ahead, 0U) << "due before the other";
  EXPECT_FALSE(is_in_line(feed(0), "a.org"));
  EXPECT_EQ(findings(), "");
}

TEST_F(Lines, AreLeftByFeedsThatMustRest) {
  const Claim working = crowd(3);
  const HostSettings rests{"a.org", {}, {}, hours(2), ""};
  ASSERT_TRUE(Hosts(store).set(std::span(&rests, 1)));
  const std::int64_t last_at = store.now()->count() - 60'000;
  redis({"HSET", "state:feed:" + feed(1), "last_at", std::to_string(last_at)});
  answer(working);
  EXPECT_EQ(claimed(polite()), std::vector{feed(2)}) << "the first has been asked a minute ago";
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed(1)}), std::to_string(last_at + 7'200'000));
  EXPECT_FALSE(is_in_line(feed(1)));
  EXPECT_EQ(line_of(feed(1)), "(nil)");
  EXPECT_EQ(findings(), "");
}

/// SECURITY Q2
TEST_F(Lines, AreLeftForQuarantine) {
  const Claim working = crowd(4);
  redis({"HSET", "state:feed:" + feed(1), "alone_deaths", "3"});
  answer(working);
  const ClaimBatch batch = polite();
  EXPECT_EQ(claimed(batch), std::vector{feed(2)});
  ASSERT_EQ(batch.quarantined.size(), 1U);
  EXPECT_FALSE(is_in_line(feed(1)));
  EXPECT_GT(std::stoll(redis({"ZSCORE", "schedule", feed(1)})), store.now()->count() + 3'600'000);
  EXPECT_EQ(findings(), "");
  const std::string url = feed(1);
  EXPECT_EQ(Feeds(store).wake(std::span(&url, 1), Milliseconds(0), false)->front().result, Wake::Result::too_early);

  // A feed that was in a line when its worker died is tried alone, and taken from the line.
  redis({"HSET", "state:feed:" + feed(3), "strikes", "1"});
  answer(batch.claims[0]);
  const ClaimBatch alone = polite();
  ASSERT_EQ(claimed(alone), std::vector{feed(3)});
  EXPECT_TRUE(alone.claims[0].alone);
  EXPECT_EQ(findings(), "");
}

/// WEBSUB P4, P6: pushed content is written at once because it needs no request; then its feed waits at its old
/// position.
TEST_F(Lines, DoNotDelayPushedContent) {
  const Claim working = crowd(4);
  const std::string url = feed(2), since = redis({"ZSCORE", "line:a.org", url});
  redis({"HSET", "state:feed:" + url, "last_at", "1", "push_token", "h", "push_state", "unproven"});
  redis({"HSET", "websub:callback:h", "feed_url", url, "state", "active", "lease_end", "99999999999999"});
  redis({"HINCRBY", "stats:websub:states", "unproven", "1"});
  Pushes pushes(store);
  const auto note = [&](PushNote::Kind kind) {
    const PushNote one{"h", kind};
    ASSERT_TRUE(pushes.note(std::span(&one, 1)).front());
  };
  note(PushNote::Kind::thin);
  EXPECT_TRUE(is_in_line(url) && !is_scheduled(url)) << "a hint asks for no better place";
  EXPECT_EQ(redis({"ZSCORE", "line:a.org", url}), since);

  note(PushNote::Kind::fat);
  EXPECT_TRUE(is_in_line(url) && !is_scheduled(url));
  const auto pushed = pushes.claim(url, worker_b + ":push1", std::chrono::seconds(90));
  ASSERT_TRUE(pushed && *pushed);
  EXPECT_FALSE(is_in_line(url));
  EXPECT_EQ(line_of(url), "(nil)");
  EXPECT_EQ(std::to_string((*pushed)->due.count()), since);
  EXPECT_EQ(findings(), "") << "while it is written";
  Commit commit = plan(**pushed, {post("pushed", 200)});
  commit.next_due = (*pushed)->due;
  ASSERT_EQ(send(commit).result, Committed::Result::ok);
  EXPECT_TRUE(polite().claims.empty());
  EXPECT_EQ(redis({"ZSCORE", "line:a.org", url}), since) << "between 1 and 3";
  EXPECT_EQ(findings(), "");

  answer(working);
  for (const int number : {1, 2, 3}) {
    const ClaimBatch next = polite();
    ASSERT_EQ(claimed(next), std::vector{feed(number)});
    if (number == 2) {
      EXPECT_NE(redis({"HGET", "state:feed:" + url, "push_claimed"}), "(nil)") << "this fetch answers the hint";
    }
    answer(next.claims[0]);
  }
}

/// A line of any length is served, regrouped, verified and repaired in steps of bounded size, while feeds of other
/// hosts are handed out. 100,000 feeds in scripts/test --full.
TEST_F(Lines, OfAnyLengthAreWorkedOnInBoundedSteps) {
  const int many = is_sanitized ? 3'000 : tries(3'000, 100'000, 100'000);
  constexpr int most_a_call = 5'000;  // 500 feeds, with everything read and written for each
  int longest = 0;
  const auto step = [&] {
    ClaimBatch batch;
    // The lease outlasts the test.
    longest = std::max(longest, commands_of([&] { batch = claim(worker_a, 100, hours(5), {1, Milliseconds(0)}); }));
    return batch;
  };
  add_many(many);
  Claim working;
  int calls = 0;
  for (bool all = false; !all; ++calls) {
    const ClaimBatch batch = step();
    all = batch.exhausted;
    if (!batch.claims.empty()) working = batch.claims[0];
  }
  EXPECT_EQ(working.feed_url, feed(0));
  EXPECT_LE(calls, many / 500 + 3);
  ASSERT_EQ(redis({"ZCARD", "line:a.org"}), std::to_string(many - 1));
  EXPECT_EQ(findings(), "");

  // Create a group and dissolve it.
  const HostSettings grouped{"a.org", {}, {}, {}, "friends"}, other{"b.org", {}, {}, {}, "friends"};
  redis({"HSET", "state:host:group:friends", "last_start", std::to_string(store.now()->count() + 3'600'000)});
  const auto regroup = [&](const std::vector<HostSettings>& all, const std::string& from, const std::string& to) {
    ASSERT_TRUE(Hosts(store).set(all));
    const std::string passes_by = "c" + std::to_string(all.size()) + ".org";
    int waited = 0;
    for (calls = 0; redis({"EXISTS", "line:" + from}) == "1" && calls <= many / 500 + 10; ++calls) {
      if (calls == 2) add_many(1, passes_by);
      const ClaimBatch batch = step();
      const std::vector<std::string> urls = claimed(batch);
      if (std::find(urls.begin(), urls.end(), feed(0, passes_by)) != urls.end()) waited = calls - 1;
    }
    EXPECT_EQ(waited, 1) << "whoever becomes due meanwhile is handed out by the next call";
    EXPECT_LE(calls, many / 500 + 5);
    EXPECT_EQ(redis({"ZCARD", "line:" + to}), std::to_string(many - 1));
    EXPECT_EQ(redis({"EXISTS", "line:" + from}), "0");
  };
  regroup({grouped, other}, "a.org", "group:friends");
  EXPECT_EQ(findings(), "");
  redis({"HSET", "state:host:a.org", "last_start", std::to_string(store.now()->count() + 3'600'000)});
  regroup({}, "group:friends", "a.org");
  EXPECT_EQ(findings(), "");
  EXPECT_LE(longest, most_a_call);
  RecordProperty("longest", longest);

  // Repair covers the line from beginning to end.
  redis({"DEL", "lines"});
  redis({"HDEL", "state:feed:" + feed(1), "line"});
  redis({"ZREM", "line:a.org", feed(many / 2)});
  redis({"ZADD", "schedule", "1", feed(many - 1)});
  const int commands = commands_of([&] { repair(); });
  EXPECT_LE(commands / many, 40) << "of each feed, however long the line is";
  RecordProperty("of_a_feed", commands / many);
  repair();
  EXPECT_EQ(findings(), "");
  EXPECT_EQ(redis({"ZCARD", "line:a.org"}), std::to_string(many - 4));
  EXPECT_EQ(redis({"ZCARD", "lines"}), "1");
}

/// HTTP H6: a redirected feed has already waited at its own host; afterwards the line continues.
TEST_F(Lines, LetARedirectPassOnce) {
  const Claim working = crowd(4);
  add_many(2, "b.org");
  add_many(1, "c.org");
  const ClaimBatch led = polite();
  ASSERT_EQ(led.claims.size(), 2U);
  const HostLimits limits{1, Milliseconds(0)};
  EXPECT_GT((*Ingest(store).take_slot(led.claims[0], "a.org", limits, std::chrono::minutes(5)))->count(), 0);
  answer(working);
  EXPECT_TRUE(polite().claims.empty()) << "the next start is kept for the redirect";
  EXPECT_GT((*Ingest(store).take_slot(led.claims[1], "a.org", limits, std::chrono::minutes(5)))->count(), 0)
      << "and for no other";
  EXPECT_EQ((*Ingest(store).take_slot(led.claims[0], "a.org", limits, std::chrono::minutes(5)))->count(), 0);
  EXPECT_LT(std::stoll(redis({"ZSCORE", "lines", "a.org"})), store.now()->count() + 500) << "which comes at once";
  ASSERT_TRUE(Ingest(store).release(std::span(&led.claims[0], 1)));
  EXPECT_GT((*Ingest(store).take_slot(led.claims[1], "a.org", limits, std::chrono::minutes(5)))->count(), 0)
      << "the line is next";
  const auto next = claimed(polite());
  EXPECT_NE(std::find(next.begin(), next.end(), feed(1)), next.end());
}

/// HTTP H6: feeds named by an operator take turns with the line; without a live worker the line's turn would be wasted.
TEST_F(Lines, TakeTurnsWithNamedFeedsWhileAWorkerServesThem) {
  Claim working = crowd(6);
  std::uint64_t request = 0;
  const auto named = [&] {
    ClaimRequest wanted;
    wanted.worker = worker_b;
    wanted.request = ++request;
    wanted.host = {1, Milliseconds(0)};
    for (int i = 5; i > 0; --i) wanted.only.push_back(feed(i));
    const auto batch = Ingest(store).claim(wanted);
    EXPECT_TRUE(batch) << batch.error().detail;
    return batch ? *batch : ClaimBatch();
  };
  EXPECT_TRUE(named().claims.empty()) << "which keeps the next start";
  for (int i = 0; i < 3; ++i) {
    answer(working);
    const ClaimBatch batch = named();
    ASSERT_EQ(batch.claims.size(), 1U) << i;
    working = batch.claims[0];
    for (const auto& deferred : batch.deferred)
      EXPECT_LE(deferred.due - batch.now, Milliseconds(1000)) << "when the request ends is not known: soon";
  }
  ASSERT_TRUE(Fleet(store).heartbeat(worker_a, {{"pid", "1"}}, Milliseconds(60'000)));
  EXPECT_TRUE(named().claims.empty());
  answer(working);
  const ClaimBatch batch = named();
  ASSERT_EQ(batch.claims.size(), 1U);
  answer(batch.claims[0]);
  EXPECT_TRUE(named().claims.empty()) << "the line is next";
  EXPECT_EQ(claimed(polite()).size(), 1U);
}

/// A run --once waits for feeds that were due when it began, not for later ones.
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

  // At a host with a quota the run waits only for one lease (90 s): each feed takes a minute, a long line hours.
  redis({"HSET", "state:host:a.org", "q:-", "60000 " + std::to_string(begun.count())});
  redis({"ZADD", "schedule", "XX", "1", feed(1)});
  EXPECT_TRUE(ask().next_awaited);
  request.due_by = begun - Milliseconds(90'001);
  EXPECT_FALSE(ask().next_awaited);
  request.due_by = begun;
  redis({"DEL", "line:a.org"});

  // The run does not wait for a back-off of an hour.
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

/// An older build without lines sees fewer feeds, but its changes do no harm.
TEST_F(Lines, SurviveABuildThatKnowsNone) {
  crowd(6);
  // It pauses, removes, moves and repairs feeds, changing only the schedule and the feed's state.
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

TEST_F(Lines, AreRepaired) {
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
  repair();  // the first repair of a feed may have hidden more damage
  EXPECT_EQ(findings(), "");
  EXPECT_TRUE(is_in_line(feed(4)));
  EXPECT_TRUE(is_scheduled(feed(1)) && is_scheduled(feed(2)) && is_scheduled(feed(3)));
}

TEST_F(Lines, OfTheWrongTypeDoNotStopClaims) {
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
