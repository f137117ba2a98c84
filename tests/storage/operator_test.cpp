// What an operator does to feeds and hosts while workers run: pause, resume, settings, host overrides (HTTP H7).
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "storage/feeds/feeds.hpp"
#include "storage/feeds/hosts.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/store/store.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::operator_test {
namespace {

const std::string worker(32, 'a'), feed_url = "https://example.org/feed.xml";
constexpr Milliseconds hour = std::chrono::hours(1), day = std::chrono::hours(24);

class OperatorTest : public testing::Test {
 protected:
  OperatorTest() : store(StoreOptions{.url = server.url()}) { EXPECT_TRUE(store.open()); }

  std::string redis(const std::vector<std::string>& words) { return test::redis_command(server, words); }

  void add(const std::vector<std::string>& urls, const std::string& settings = "") {
    for (const std::string& url : urls) {
      ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = url, .settings = settings}}));
    }
  }
  Milliseconds now() { return *store.now(); }

  /// Claims with no host limits except those set by the test.
  ClaimBatch claim(const std::vector<std::string>& only = {}) {
    ClaimRequest request;
    request.worker = worker;
    request.request = ++requests;
    request.max = 100;
    request.host = {64, Milliseconds(0)};
    request.only = only;
    auto batch = Ingest(store).claim(request);
    EXPECT_TRUE(batch) << batch.error().detail;
    return batch ? *batch : ClaimBatch();
  }
  std::vector<std::string> claimed() {
    std::vector<std::string> urls;
    for (const Claim& claim : claim().claims) urls.push_back(claim.feed_url);
    std::sort(urls.begin(), urls.end());
    return urls;
  }
  Committed commit(const Claim& claimed, const std::string& state = "healthy") {
    Commit commit;
    commit.feed_url = claimed.feed_url;
    commit.claim = claimed.id;
    commit.next_due = claimed.now + day;
    commit.before = commit.state = claimed.state;
    commit.state.state = state;
    commit.state.last.at = claimed.now;
    commit.state.due.reason = "adaptive";
    const Commit* const one = &commit;
    const auto done = Ingest(store).commit(std::span(&one, 1)).front();
    EXPECT_TRUE(done) << done.error().detail;
    return done ? *done : Committed();
  }

  FeedRecord record(const std::string& url = feed_url) {
    const auto records = Feeds(store).records(std::vector{url});
    EXPECT_TRUE(records && records->front());
    return records->front().value_or(FeedRecord());
  }
  Paused pause(const std::string& url = feed_url) { return Feeds(store).pause(std::vector{url})->front(); }
  Resumed resume(Milliseconds after = {}, const std::string& url = feed_url) {
    return Feeds(store).resume(std::vector{ResumedFeed{url, after}}, hour)->front();
  }
  void make_due(const std::string& url = feed_url) { redis({"ZADD", "schedule", "XX", "1", url}); }
  std::string counted(const std::string& state) { return redis({"HGET", "stats:feeds:states", state}); }

  test::RedisServer server;
  Store store;
  std::uint64_t requests = 0;
};

TEST_F(OperatorTest, APausedFeedIsNotHandedOut) {
  add({feed_url});
  EXPECT_EQ(pause(), Paused::paused);
  EXPECT_EQ(pause(), Paused::already);
  EXPECT_EQ(pause("https://no.where/"), Paused::unknown);
  EXPECT_EQ(record().state.state, "paused");
  EXPECT_EQ(record().state.due.reason, "paused");
  EXPECT_FALSE(record().due);
  EXPECT_EQ(counted("paused"), "1");
  EXPECT_EQ(counted("new"), "0");
  EXPECT_TRUE(claim().claims.empty());
  EXPECT_TRUE(claim({feed_url}).claims.empty());
  const auto woken = Feeds(store).wake(std::vector{feed_url}, hour, true);
  EXPECT_EQ(woken->front().result, Wake::Result::paused);
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "0");
  EXPECT_FALSE(Feeds(store).add(std::vector{NewFeed{.feed_url = feed_url}})->front());
  EXPECT_EQ(redis({"ZCARD", "schedule"}), "0");
}

// HTTP X1: if they were due together, the feeds of one host would need a connection each.
TEST_F(OperatorTest, ManyFeedsThatAreMadeDueStandApart) {
  std::vector<NewFeed> feeds;
  std::vector<std::string> urls;
  for (int i = 0; i < 64; ++i) urls.push_back("https://a.example/" + std::to_string(i));
  for (const std::string& url : urls) feeds.push_back({.feed_url = url});
  const auto places = [&] {
    std::set<std::string> different;
    const Milliseconds latest = now();
    for (const std::string& url : urls) {
      const Milliseconds due(std::stoll(redis({"ZSCORE", "schedule", url})));
      EXPECT_LE(due, latest);
      EXPECT_GT(due, latest - hour);
      different.insert(std::to_string(due.count()));
    }
    return different.size();
  };
  ASSERT_TRUE(Feeds(store).add(feeds));
  EXPECT_GT(places(), 32u);
  for (const std::string& url : urls) redis({"ZADD", "schedule", std::to_string((now() + hour).count()), url});
  ASSERT_TRUE(Feeds(store).wake(urls, Milliseconds(0), false));
  EXPECT_GT(places(), 32u);
}

TEST_F(OperatorTest, AResumedFeedHasItsStateAndComesWhenItMay) {
  add({feed_url});
  commit(claim().claims.at(0), "degraded");
  const Milliseconds last = record().state.last.at;
  EXPECT_EQ(pause(), Paused::paused);
  EXPECT_EQ(resume({}, "https://no.where/").result, Resumed::Result::unknown);
  const Resumed soon = resume();
  EXPECT_EQ(soon.result, Resumed::Result::resumed);
  EXPECT_EQ(soon.due, last + hour) << "not sooner than the floor after the last refresh (HTTP P6)";
  EXPECT_EQ(record().due, soon.due);
  EXPECT_EQ(record().state.state, "degraded");
  EXPECT_EQ(counted("paused"), "0");
  EXPECT_EQ(counted("degraded"), "1");
  EXPECT_EQ(resume().result, Resumed::Result::running);
  EXPECT_EQ(record().due, soon.due);

  // Long after the last refresh it is due at once, or after the caller's spread.
  redis({"HSET", "state:feed:" + feed_url, "last_at", std::to_string((last - day).count())});
  pause();
  const Milliseconds resumed = resume().due;
  EXPECT_LE(resumed, now());
  EXPECT_EQ(claim().claims.size(), 1U);
  add({"https://example.org/b"});
  pause("https://example.org/b");
  const Milliseconds before = now();
  EXPECT_GE(resume(hour, "https://example.org/b").due, before + hour);

  // A running Retry-After stays in force.
  add({"https://example.org/c"});
  const Milliseconds held = now() + day;
  redis({"HSET", "state:feed:https://example.org/c", "not_before", std::to_string(held.count())});
  pause("https://example.org/c");
  EXPECT_EQ(resume({}, "https://example.org/c").due, held);
}

TEST_F(OperatorTest, AFeedPausedWhileItIsRefreshedIsCommittedAndStaysPaused) {
  add({feed_url});
  const Claim claimed = claim().claims.at(0);
  pause();
  EXPECT_EQ(commit(claimed, "degraded").result, Committed::Result::ok);
  EXPECT_EQ(record().state.state, "paused");
  EXPECT_EQ(record().state.due.reason, "paused");
  EXPECT_EQ(record().state.last.at, claimed.now) << "the rest of the result is there";
  EXPECT_FALSE(record().due);
  EXPECT_EQ(record().claim, "");
  EXPECT_EQ(counted("paused"), "1");
  EXPECT_EQ(resume().result, Resumed::Result::resumed);
  EXPECT_EQ(record().state.state, "degraded") << "what the refresh has found";
  EXPECT_EQ(counted("degraded"), "1");
  EXPECT_EQ(counted("new"), "0");
}

TEST_F(OperatorTest, AFeedResumedWhileItIsRefreshedIsNotHandedOutTwice) {
  add({feed_url});
  const Claim claimed = claim().claims.at(0);
  pause();
  EXPECT_EQ(resume().due, claimed.now + Milliseconds(90'000)) << "the end of the lease";
  EXPECT_TRUE(claim().claims.empty());
  EXPECT_EQ(commit(claimed).result, Committed::Result::ok);
  EXPECT_EQ(record().due, claimed.now + day);
  EXPECT_EQ(record().state.state, "healthy");
  EXPECT_EQ(counted("healthy"), "1");
}

TEST_F(OperatorTest, AClaimGivenBackWhilePausedStaysOut) {
  add({feed_url});
  const Claim claimed = claim().claims.at(0);
  pause();
  EXPECT_EQ(*Ingest(store).release(std::vector{claimed}), 1U);
  EXPECT_FALSE(record().due);
  EXPECT_EQ(record().state.state, "paused");
}

TEST_F(OperatorTest, APausedFeedCanBeRemoved) {
  add({feed_url});
  pause();
  EXPECT_TRUE(*Feeds(store).remove(feed_url));
  EXPECT_EQ(counted("paused"), "0");
  EXPECT_EQ(redis({"EXISTS", "state:feed:" + feed_url}), "0");
}

TEST_F(OperatorTest, SettingsAreReplacedUnlessTheyHaveChanged) {
  add({feed_url}, R"({"keep":5})");
  EXPECT_EQ(*Feeds(store).change_settings(feed_url, R"({"keep":5})", R"({"keep":6})"), SettingsChange::done);
  EXPECT_EQ(*Feeds(store).change_settings(feed_url, R"({"keep":5})", R"({"keep":7})"), SettingsChange::outdated);
  EXPECT_EQ(record().state.settings, R"({"keep":6})");
  EXPECT_EQ(*Feeds(store).change_settings(feed_url, R"({"keep":6})", ""), SettingsChange::done);
  EXPECT_EQ(redis({"HEXISTS", "state:feed:" + feed_url, "settings"}), "0");
  EXPECT_EQ(*Feeds(store).change_settings(feed_url, "", R"({"keep":8})"), SettingsChange::done);
  EXPECT_EQ(*Feeds(store).change_settings("https://no.where/", "", "{}"), SettingsChange::unknown);
  EXPECT_EQ(redis({"EXISTS", "state:feed:https://no.where/"}), "0");
}

TEST_F(OperatorTest, SettingsChangedWhileAFeedIsRefreshedOutliveTheCommit) {
  add({feed_url}, R"({"keep":5})");
  const Claim claimed = claim().claims.at(0);
  EXPECT_EQ(*Feeds(store).change_settings(feed_url, R"({"keep":5})", R"({"keep":6})"), SettingsChange::done);
  EXPECT_EQ(commit(claimed).result, Committed::Result::ok);
  EXPECT_EQ(record().state.settings, R"({"keep":6})");
}

// --- hosts -----------------------------------------------------------------------------------------------------------

TEST_F(OperatorTest, HostsMayDifferFromTheRest) {
  add({"https://slow.example/1", "https://slow.example/2", "https://usual.example/1", "https://usual.example/2"});
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"slow.example", 1, {}, {}, ""}}));
  EXPECT_EQ(claimed().size(), 3U) << "one at a time there, 64 elsewhere";
  redis({"DEL", "state:host:slow.example"});
  for (const char* url : {"https://slow.example/1", "https://slow.example/2"}) make_due(url);
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"slow.example", {}, hour, {}, ""}}));
  redis({"ZADD", "lines", "0", "slow.example"});
  const ClaimBatch spaced = claim();
  EXPECT_EQ(spaced.claims.size(), 1U);
  EXPECT_EQ(redis({"ZSCORE", "lines", "slow.example"}), std::to_string((spaced.now + hour).count()));
}

TEST_F(OperatorTest, SettingsOfHostsAreReplacedAsAWhole) {
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"a.example", 2, Milliseconds(500), day, "family"},
                                           HostSettings{"b.example", {}, {}, {}, "family"}}));
  EXPECT_EQ(redis({"HGET", "conf:hosts", "a.example"}), "2 500 86400000 family");
  EXPECT_EQ(redis({"HGET", "conf:hosts", "b.example"}), "- - - family");
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"b.example", {}, Milliseconds(0), {}, ""}}));
  EXPECT_EQ(redis({"HGETALL", "conf:hosts"}), "b.example - 0 - ");
  ASSERT_TRUE(Hosts(store).set({}));
  EXPECT_EQ(redis({"EXISTS", "conf:hosts"}), "0");
}

TEST_F(OperatorTest, AHostMayWantItsFeedsToRest) {
  add({feed_url});
  ASSERT_TRUE(Hosts(store).set(std::vector{HostSettings{"example.org", {}, {}, day, ""}}));
  const Claim first = claim().claims.at(0);  // never refreshed before
  commit(first);
  const Milliseconds last = record().state.last.at;
  make_due();
  const ClaimBatch early = claim();
  EXPECT_TRUE(early.claims.empty());
  EXPECT_TRUE(early.deferred.empty()) << "run --once does not wait for it";
  EXPECT_EQ(record().due, last + day);
  EXPECT_EQ(record().state.due.reason, "override");
  const auto woken = Feeds(store).wake(std::vector{feed_url}, hour, false);
  EXPECT_EQ(woken->front().result, Wake::Result::too_early);
  EXPECT_EQ(woken->front().at, last + day);
  EXPECT_EQ(Feeds(store).wake(std::vector{feed_url}, hour, true)->front().result, Wake::Result::due);
  EXPECT_EQ(claim().claims.size(), 1U) << "an operator who insists has his way";
}

TEST_F(OperatorTest, HostsOfAGroupShareOneGate) {
  add({"https://a.example/1", "https://b.example/1", "https://c.example/1"});
  ASSERT_TRUE(Hosts(store).set(
      std::vector{HostSettings{"a.example", 1, {}, {}, "family"}, HostSettings{"b.example", 1, {}, {}, "family"}}));
  const ClaimBatch batch = claim();
  EXPECT_EQ(batch.claims.size(), 2U) << "one of the family, and the stranger";
  EXPECT_EQ(batch.deferred.size(), 1U);
  EXPECT_EQ(redis({"EXISTS", "state:host:a.example", "state:host:b.example"}), "0");
  // Commit, release and remove all free the slot for the other feed.
  for (const Claim& claimed : batch.claims) commit(claimed);
  EXPECT_EQ(redis({"HLEN", "state:host:group:family"}), "2") << "last_start and tail";
  for (const char* url : {"https://a.example/1", "https://b.example/1"}) make_due(url);
  const ClaimBatch again = claim();
  ASSERT_EQ(again.claims.size(), 1U);
  EXPECT_EQ(*Ingest(store).release(again.claims), 1U);
  EXPECT_EQ(redis({"HLEN", "state:host:group:family"}), "2");
  make_due(again.claims[0].feed_url);
  const ClaimBatch third = claim();
  ASSERT_EQ(third.claims.size(), 1U);
  EXPECT_TRUE(*Feeds(store).remove(third.claims[0].feed_url));
  EXPECT_EQ(redis({"HLEN", "state:host:group:family"}), "2");
}

TEST_F(OperatorTest, ABrokenKeyOfHostSettingsDoesNotStopClaims) {
  add({feed_url});
  redis({"SET", "conf:hosts", "x"});
  EXPECT_EQ(claimed(), std::vector{feed_url});
  redis({"DEL", "conf:hosts"});
  redis({"HSET", "conf:hosts", "example.org", "nonsense"});
  make_due();
  EXPECT_EQ(claimed(), std::vector{feed_url});
}

}  // namespace
}  // namespace feedmill::operator_test
