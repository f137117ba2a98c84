// A poll that changes only the feed's own state: the fast path of commit (RELIABILITY L5), and which changes may not
// take it.
#include <functional>
#include <map>
#include <sstream>

#include "storage/feeds/feeds.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/queues/pushes.hpp"
#include "tests/storage/store_fixture.hpp"

namespace feedmill::unchanged_test {
namespace {

using test::feed_url;
using test::worker_b;
using Result = Committed::Result;
using std::chrono::hours;

class Unchanged : public test::StoreTest {
 protected:
  Unchanged() {
    add();
    refresh({post("a", 1000)});
  }

  /// The commit of a worker after a 304.
  static Commit not_modified(const Claim& claim) {
    Commit commit;
    commit.feed_url = claim.feed_url;
    commit.claim = claim.id;
    commit.next_due = claim.now + hours(1);
    commit.before = commit.state = claim.state;
    FeedState& state = commit.state;
    state.last.at = state.last.success = claim.now;
    ++state.counts.polls;
    ++state.counts.polls_not_modified;
    state.last.status = 304;
    state.last.outcome = "not_modified";
    state.due.reason = "adaptive";
    state.due.why = "adaptive 3200 S=54.50\nfloor 3600\nmax_age 3900 max-age=4000, Age 100\nphase " +
                    std::to_string(100 + state.counts.polls);
    commit.host.is = HostAnswer::Is::served;
    return commit;
  }

  /// Commits a first 304; later ones only set fields.
  void settle() { EXPECT_EQ(send(not_modified(claim_one())).result, Result::ok); }

  std::map<std::string, std::string> hash(const std::string& key) {
    std::istringstream names(redis({"HKEYS", key}));
    std::map<std::string, std::string> fields;
    for (std::string name; names >> name;) fields[name] = redis({"HGET", key, name});
    return fields;
  }

  /// Whether `act` took the slow path of commit, which checks the types of keys.
  bool takes_the_long_way(const std::function<void()>& act) {
    redis({"CONFIG", "RESETSTAT"});
    act();
    return redis({"INFO", "commandstats"}).find("cmdstat_type:") != std::string::npos;
  }

  /// Writes fields of the feed's state as scripts do, which then end `plain`.
  void write_special(std::vector<std::string> fields) {
    const std::string key = "state:feed:" + feed_url;
    fields.insert(fields.begin(), {"HSET", key});
    redis(fields);
    redis({"HDEL", key, "plain"});
  }

  std::string state(const std::string& field) { return redis({"HGET", "state:feed:" + feed_url, field}); }
  std::string due() { return redis({"ZSCORE", "schedule", feed_url}); }
};

TEST_F(Unchanged, IsOneSmallScript) {
  settle();
  const Claim claimed = claim_one();
  EXPECT_FALSE(takes_the_long_way([&] { EXPECT_EQ(send(not_modified(claimed)).result, Result::ok); }));
  const std::string stats = redis({"INFO", "commandstats"});
  std::size_t calls = 0;
  for (std::size_t at = stats.find(":calls="); at != std::string::npos; at = stats.find(":calls=", at + 1)) {
    calls += std::stoul(stats.substr(at + 7));
  }
  EXPECT_LE(calls, 3U + 8) << "CONFIG, INFO, EVALSHA and its commands: " << stats;
  EXPECT_EQ(redis({"OBJECT", "ENCODING", "state:feed:" + feed_url}), "listpack") << "PERFORMANCE F8";
}

TEST_F(Unchanged, LeavesWhatTheLongWayLeaves) {
  settle();
  const std::string key = "state:feed:" + feed_url;
  Claim claimed = claim_one();
  Commit commit = not_modified(claimed);
  ASSERT_FALSE(takes_the_long_way([&] { send(commit); }));
  const auto short_way = hash(key), short_host = hash("state:host:example.org");
  const std::string short_due = due();

  claimed = claim_one();
  commit.claim = claimed.id;
  write_special({"alone_deaths", "1"});
  ASSERT_TRUE(takes_the_long_way([&] { send(commit); }));
  auto long_way = hash(key);
  EXPECT_NE(long_way["last_claim"], short_way.at("last_claim"));
  long_way["last_claim"] = short_way.at("last_claim");
  EXPECT_EQ(long_way, short_way);
  EXPECT_EQ(short_due, due());
  auto long_host = hash("state:host:example.org");
  long_host["last_start"] = short_host.at("last_start");
  EXPECT_EQ(long_host, short_host);
  EXPECT_EQ(short_host.size(), 1U) << "no slot is left";
}

TEST_F(Unchanged, AnswersARepeatedOneAndAForeignOne) {
  settle();
  const Claim first = claim_one();
  const Commit commit = not_modified(first);
  EXPECT_EQ(send(commit).result, Result::ok);
  EXPECT_EQ(send(commit).result, Result::dup);
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch taken = claim(worker_b);
  EXPECT_EQ(send(commit).result, Result::dup) << "it is the last one still";
  EXPECT_EQ(send(not_modified(taken.claims.at(0))).result, Result::ok);
  EXPECT_EQ(send(commit).result, Result::stale);
}

struct Odd {
  const char* name;
  std::vector<std::string> change;
};

TEST_F(Unchanged, GoesTheLongWayWhenAnythingIsOutOfTheOrdinary) {
  const std::string key = "state:feed:" + feed_url, gate = "state:host:example.org";
  const Odd rows[] = {
      {"wake", {"wake", "0"}},
      {"a hint", {"push_wake", "1 ping"}},
      {"due because of a hint", {"push_due", "99"}},
      {"alone", {"alone", "1"}},
      {"deaths", {"alone_deaths", "1"}},
      {"held", {"held", "5"}},
      {"slots elsewhere", {"claim_hosts", "other.org"}},
      {"host is slow", {"HSET", gate, "slow", "2"}},
      {"host is closed", {"HSET", gate, "closed", "1"}},
      {"host is a string", {"SET", gate, "x"}},
      {"schedule is a string", {"SET", "schedule", "x"}},
  };
  for (const Odd& row : rows) {
    settle();
    const Claim claimed = claim_one();
    if (row.change.size() == 2)
      write_special(row.change);
    else
      redis(row.change);
    const bool broken = row.change[0] == "SET";
    const Commit commit = not_modified(claimed);
    EXPECT_TRUE(takes_the_long_way([&] {
      const Commit* const one = &commit;
      const auto done = Ingest(store).commit(std::span(&one, 1)).front();
      EXPECT_EQ(done.has_value(), !broken) << row.name;
    })) << row.name;
    if (broken) {
      EXPECT_EQ(state("claim"), claimed.id) << row.name << ": nothing was written";
      redis({"DEL", row.change[1]});
      if (row.change[1] == "schedule") redis({"ZADD", "schedule", "1", feed_url});
      EXPECT_EQ(send(commit).result, Result::ok) << row.name;
      continue;
    }
    for (const char* const gone : {"wake", "push_wake", "alone", "alone_deaths", "held", "claim_hosts", "claim"}) {
      EXPECT_EQ(state(gone), "(nil)") << row.name;
    }
    redis({"DEL", gate});
    redis({"HDEL", key, "push_due"});
  }
}

TEST_F(Unchanged, ObeysAWishAndAHostThatRecovers) {
  settle();
  Claim claimed = claim_one();
  const std::vector<std::string> urls{feed_url};
  EXPECT_EQ((*Feeds(store).wake(urls, Milliseconds(0), true))[0].result, Wake::Result::noted);
  send(not_modified(claimed));
  EXPECT_LE(std::stoll(due()), store.now()->count());

  claimed = claim_one();
  redis({"HSET", "state:host:example.org", "slow", "2", "calm", "3"});
  send(not_modified(claimed));
  EXPECT_EQ(redis({"HGET", "state:host:example.org", "calm"}), "4");
}

// `plain` in the state spares a poll the reading of fields that are not there: each writer of one must end it.
TEST_F(Unchanged, EveryWriterOfASpecialFieldEndsPlain) {
  const std::vector<std::string> urls{feed_url};
  const auto becomes_plain = [&](const Claim& claim) {
    EXPECT_EQ(send(not_modified(claim)).result, Result::ok);
    EXPECT_EQ(state("plain"), "1");
  };
  settle();
  Claim claimed = claim_one();
  EXPECT_EQ(state("plain"), "1") << "a claim alone changes nothing";
  ASSERT_TRUE(Feeds(store).wake(urls, Milliseconds(0), true));
  EXPECT_EQ(state("plain"), "(nil)") << "wake";
  becomes_plain(claimed);

  claimed = claim_one();
  ASSERT_TRUE(Ingest(store).take_slot(claimed, "other.org", HostLimits{}, hours(1)));
  EXPECT_EQ(state("claim_hosts"), "other.org");
  EXPECT_EQ(state("plain"), "(nil)") << "a slot elsewhere";
  becomes_plain(claimed);

  claimed = claim_one();
  ASSERT_TRUE(Pushes(store).ping(urls, Milliseconds(1000)));
  EXPECT_EQ(state("plain"), "(nil)") << "a ping during the refresh";
  EXPECT_EQ(send(not_modified(claimed)).result, Result::ok);
  EXPECT_EQ(state("plain"), "(nil)") << "its hint waits for a fetch";
  becomes_plain(claim_one());

  claimed = claim_one();
  ASSERT_TRUE(Feeds(store).pause(urls));
  EXPECT_EQ(state("plain"), "(nil)") << "pause";
  EXPECT_EQ(send(not_modified(claimed)).result, Result::ok);
  EXPECT_EQ(state("plain"), "(nil)") << "still paused";
}

TEST_F(Unchanged, AnUnfinishedClaimCountsThoughTheFeedIsPlain) {
  settle();
  const Claim first = claim_one();
  redis({"ZADD", "schedule", "XX", "1", feed_url});
  const ClaimBatch taken = claim(worker_b);
  ASSERT_EQ(taken.claims.size(), 1U);
  EXPECT_TRUE(taken.claims[0].alone) << "SECURITY Q1: its first worker may have died of it";
  EXPECT_EQ(state("plain"), "(nil)");
  EXPECT_EQ(send(not_modified(first)).result, Result::stale);
}

TEST_F(Unchanged, LeavesPartsThatWereWrittenToTheLongWay) {
  settle();
  const Claim claimed = claim_one();
  write_special({"claim_part", "1"});
  EXPECT_EQ(send(not_modified(claimed)).result, Result::dup);
  EXPECT_EQ(state("claim"), claimed.id) << "its last part has not come";
}

TEST_F(Unchanged, ForgetsAHintOnlyAsAClaimAnswersIt) {
  settle();
  write_special({"push_hint", "1 ping"});
  const Claim claimed = claim_one();
  EXPECT_EQ(state("push_hint"), "(nil)") << "the fetch answers it";
  write_special({"push_hint", "2 ping"});
  EXPECT_EQ(send(not_modified(claimed)).result, Result::ok);
  EXPECT_EQ(state("push_hint"), "2 ping") << "this one came after the fetch had begun";
}

// As stored by earlier builds, which did not cut values into pieces.
TEST_F(Unchanged, TakesUpAStateOfWholeValues) {
  const std::string key = "state:feed:" + feed_url;
  const std::string due_before = std::to_string((*store.now() - hours(1)).count());
  redis({"DEL", key});
  redis({"HSET",          key,
         "state",         "healthy",
         "etag",          "\"" + std::string(80, 'e') + "\"",
         "last_modified", "Mon, 01 Jan 2024 00:00:00 GMT",
         "hashes",        std::string(32, 'a') + std::string(32, 'b'),
         "sizes",         "1500 9000",
         "probe",         "1000 2000 0",
         "last",          "200 updated -",
         "last_at",       "5000",
         "times",         "1 5000 3 4",
         "rate",          "54.5",
         "counts",        "350400 310123 20456 345 1234 18242 1234567890 9876543210 20123 1 2 3 339 77",
         "won",           "max_age",
         "why",           R"([{"code":"max_age","s":3900,"from":"max-age=4000, Age 100"},{"code":"phase","s":131}])",
         "retention",     "25 100",
         "bytes",         "9",
         "last_claim",    "w:1-1"});
  redis({"ZADD", "schedule", "XX", due_before, feed_url});
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  const Claim& claimed = batch.claims[0];
  EXPECT_EQ(std::to_string(claimed.due.count()), due_before);
  EXPECT_EQ(claimed.state.validators.etag.size(), 82U);
  EXPECT_EQ(claimed.state.validators.last_modified, "Mon, 01 Jan 2024 00:00:00 GMT");
  EXPECT_EQ(claimed.state.counts.polls, 350'400U);
  EXPECT_EQ(send(not_modified(claimed)).result, Result::ok);
  EXPECT_EQ(due(), std::to_string((claimed.now + hours(1)).count()));
  FeedState expected = not_modified(claimed).state;
  expected.quarantine.strikes = 0;
  EXPECT_EQ((*Feeds(store).records(std::vector{feed_url}))[0]->state, expected);
  EXPECT_EQ(state("times"), "1 " + std::to_string(claimed.now.count()) + " 3 4");
  EXPECT_EQ(state("etag").size(), 82U);
}

TEST_F(Unchanged, StaysPausedAndOutOfTheSchedule) {
  settle();
  const Claim claimed = claim_one();
  const std::vector<std::string> urls{feed_url};
  ASSERT_TRUE(Feeds(store).pause(urls));
  send(not_modified(claimed));
  EXPECT_EQ(state("state"), "paused");
  EXPECT_EQ(state("won"), "paused");
  EXPECT_EQ(due(), "(nil)");
  EXPECT_EQ(state("paused_due"), std::to_string((claimed.now + hours(1)).count()));
}

TEST_F(Unchanged, RemembersOnceADayThatTheHostServesDocuments) {
  settle();
  Commit commit = not_modified(claim_one());
  commit.host.document = true;
  EXPECT_TRUE(takes_the_long_way([&] { send(commit); }));
  const std::string noted = redis({"HGET", "state:host:example.org", "served_at"});
  ASSERT_NE(noted, "(nil)");
  commit = not_modified(claim_one());
  commit.host.document = true;
  EXPECT_FALSE(takes_the_long_way([&] { send(commit); }));
  EXPECT_EQ(redis({"HGET", "state:host:example.org", "served_at"}), noted);
  redis({"HSET", "state:host:example.org", "served_at", "1000"});
  commit = not_modified(claim_one());
  commit.host.document = true;
  EXPECT_TRUE(takes_the_long_way([&] { send(commit); }));
  EXPECT_GT(std::stoll(redis({"HGET", "state:host:example.org", "served_at"})), 1000);
}

TEST_F(Unchanged, KeepsTheHashOfAHostWhileItHasContent) {
  const auto ttl = [&] { return std::stoll(redis({"PTTL", "state:host:example.org"})); };
  settle();
  EXPECT_GT(ttl(), 0) << "slots alone: a minute longer than the lease";
  EXPECT_LE(ttl(), 90'000 + 60'000);
  Commit commit = not_modified(claim_one());
  commit.host.document = true;
  send(commit);
  const long long seven_days = Milliseconds(hours(24 * 7)).count();
  EXPECT_GT(ttl(), seven_days);
  settle();
  EXPECT_GT(ttl(), seven_days) << "a slot does not shorten it";
  EXPECT_LE(ttl(), seven_days + 60'000);
  redis({"HDEL", "state:host:example.org", "served_at"});
  redis({"PEXPIRE", "state:host:example.org", "100000"});
  claim_one();
  EXPECT_GT(ttl(), 100'000) << "nor is it let go under a slot";
}

}  // namespace
}  // namespace feedmill::unchanged_test
