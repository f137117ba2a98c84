// Errors of servers that cannot serve at the moment, each caused for real (RELIABILITY §6), and how the store handles
// replies that were lost or cannot be true.
#include <functional>
#include <thread>
#include <utility>

#include "storage/entries/entries.hpp"
#include "storage/events/event_stream.hpp"
#include "storage/feeds/feeds.hpp"
#include "storage/feeds/fleet.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/lua/scripts.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/fault_proxy.hpp"

namespace feedmill::server_faults_test {
namespace {

using Code = StoreError::Code;
using Fault = test::FaultProxy::Fault;
using test::FaultProxy;
using test::feed_url;
using test::redis_command;
using test::RedisServer;
using test::worker_a;
using test::worker_b;

void change_settings(const RedisServer& server, const std::vector<std::string>& words) {
  std::vector<std::string> all{"CONFIG", "SET"};
  all.insert(all.end(), words.begin(), words.end());
  ASSERT_EQ(redis_command(server, all), "OK");
}

struct FaultCase {
  const char* name;
  Code code;
  std::function<void(const RedisServer&)> begin, end;
};

const FaultCase cases[] = {
    {"OutOfMemory", Code::out_of_memory,
     [](const RedisServer& server) {
       change_settings(server, {"maxmemory", "1"});
     },
     [](const RedisServer& server) {
       change_settings(server, {"maxmemory", "0"});
     }},
    {"CannotSave", Code::misconfigured,
     [](const RedisServer& server) {  // a directory blocks the path of the snapshot
       std::filesystem::create_directory(server.directory() / "dump.rdb");
       change_settings(server, {"save", "3600 1"});
       EXPECT_NE(redis_command(server, {"BGSAVE"}).find("started"), std::string::npos);
       while (redis_command(server, {"INFO", "persistence"}).find("rdb_last_bgsave_status:err") == std::string::npos) {
         std::this_thread::yield();
       }
     },
     [](const RedisServer& server) {
       change_settings(server, {"save", ""});
     }},
    {"NoReplicas", Code::misconfigured,
     [](const RedisServer& server) {
       change_settings(server, {"min-replicas-to-write", "1"});
     },
     [](const RedisServer& server) {
       change_settings(server, {"min-replicas-to-write", "0"});
     }},
    {"IsAReplica", Code::read_only,
     [](const RedisServer& server) {
       redis_command(server, {"REPLICAOF", "127.0.0.1", "1"});
     },
     [](const RedisServer& server) {
       redis_command(server, {"REPLICAOF", "NO", "ONE"});
     }},
    {"MayNotWrite", Code::auth,
     [](const RedisServer& server) {
       redis_command(server, {"ACL", "SETUSER", "feedmill", "-hset"});
     },
     [](const RedisServer& server) {
       redis_command(server, {"ACL", "SETUSER", "feedmill", "+hset"});
     }},
    {"UserIsGone", Code::auth,
     [](const RedisServer& server) {
       redis_command(server, {"ACL", "SETUSER", "feedmill", "off"});
     },
     [](const RedisServer& server) {
       redis_command(server, {"ACL", "SETUSER", "feedmill", "on"});
     }},
};

class ServerFaults : public test::StoreTest, public testing::WithParamInterface<FaultCase> {
 protected:
  StoreResult<Committed> try_to_send(const Commit& commit) {
    const Commit* const one = &commit;
    return Ingest(store).commit(std::span(&one, 1)).front();
  }
};

TEST_P(ServerFaults, LoseNothingDoubleNothingAndAreDistinguished) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  GetParam().begin(server);
  store.disconnect();  // some faults affect only new connections
  const auto refused = try_to_send(commit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, GetParam().code) << refused.error().detail;
  GetParam().end(server);
  EXPECT_EQ(send(commit).created, 1U);
  EXPECT_EQ(send(commit).result, Committed::Result::dup);
  EXPECT_EQ(redis({"ZCARD", feed_url + ":sort"}), "1");
  EXPECT_EQ(signals("post_created").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, ServerFaults, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

class Interrupted : public ServerFaults {};

TEST_F(Interrupted, ByAnEndlessForeignScript) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  redis({"CONFIG", "SET", "busy-reply-threshold", "1"});
  std::thread endless([&] { redis({"EVAL", "while true do end", "0"}); });
  while (!redis({"PING"}).starts_with("(error) BUSY")) std::this_thread::yield();
  const auto refused = try_to_send(commit);
  EXPECT_TRUE(refused.has_error() && refused.error().code == Code::loading);
  EXPECT_EQ(redis({"SCRIPT", "KILL"}), "OK") << "the store leaves other people's scripts alone";
  endless.join();
  EXPECT_EQ(send(commit).result, Committed::Result::ok);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "1");
}

TEST_F(Interrupted, ByScriptsBeingForgottenBetweenParts) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 250; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
  const Commit commit = plan(claim_one(), posts, {.entries = 500});
  redis({"SCRIPT", "FLUSH"});
  EXPECT_EQ(send(commit).created, 250U);
  redis({"SCRIPT", "FLUSH"});
  EXPECT_EQ(send(commit).result, Committed::Result::dup);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "250");
}

TEST(ALoadingServer, IsWaitedFor) {
  RedisServer server({"--appendonly", "yes"});
  Store store(StoreOptions{.url = server.admin_url()});
  ASSERT_TRUE(store.open());
  redis_command(server, {"EVAL", "for i = 1, 40000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end", "0"});
  server.kill();
  server.start_loading({"--key-load-delay", "200", "--loading-process-events-interval-bytes", "1024"});
  bool was_loading = false;
  auto feeds = Feeds(store).urls_after("", 10'000);
  for (; !feeds; feeds = Feeds(store).urls_after("", 10'000)) {
    if (feeds.error().code == Code::loading && !std::exchange(was_loading, true))
      redis_command(server, {"CONFIG", "SET", "key-load-delay", "0"});  // otherwise loading takes 8 s
  }
  EXPECT_TRUE(was_loading);
  EXPECT_EQ(redis_command(server, {"EXISTS", "k40000"}), "1");
}

/// The primary dies, its replica takes over, and the name points to the replica.
TEST(AFailover, IsFollowedByName) {
  RedisServer first, second;
  FaultProxy replication(first.admin_url());
  FaultProxy name(first.admin_url(), FaultProxy::Speaks::redis);
  Store store(StoreOptions{.url = name.redis_url_of("feedmill")});
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{feed_url, {}, "", ""}}));
  redis_command(second, {"REPLICAOF", "127.0.0.1", std::to_string(replication.port())});
  while (redis_command(second, {"SCARD", "feeds"}) != "1") std::this_thread::yield();

  redis_command(second, {"REPLICAOF", "NO", "ONE"});
  redis_command(first, {"REPLICAOF", "127.0.0.1", "1"});
  name.lead_to(second.admin_url());
  const auto refused = Feeds(store).add(std::vector{NewFeed{"https://two.org/", {}, "", ""}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::read_only) << refused.error().detail;
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{"https://two.org/", {}, "", ""}}));
  EXPECT_EQ(redis_command(second, {"SCARD", "feeds"}), "2");
  EXPECT_EQ(redis_command(first, {"SCARD", "feeds"}), "1");
}

class LostReplies : public test::StoreTest {
 protected:
  LostReplies() : proxy(server.admin_url(), FaultProxy::Speaks::redis), direct(std::move(store)) {
    store = Store(StoreOptions{.url = proxy.redis_url_of("feedmill"), .timeout = Milliseconds(2000)});
    EXPECT_TRUE(store.open());
    test::load_scripts(server);
  }
  ClaimRequest request(std::uint64_t number) {
    ClaimRequest request;
    request.worker = worker_a;
    request.request = number;
    request.max = 1;
    request.host = {1, Milliseconds(0)};
    return request;
  }

  FaultProxy proxy;
  Store direct;
};

TEST_F(LostReplies, OfACommitThatWentThroughIsADup) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  proxy.at(test::runs_script(scripts::commit), 1, Fault::cut_reply);
  const Commit* const one = &commit;
  EXPECT_FALSE(Ingest(store).commit(std::span(&one, 1)).front());
  EXPECT_EQ(send(commit).result, Committed::Result::dup);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "1");
  EXPECT_EQ(signals("post_created").size(), 1U);
}

TEST_F(LostReplies, OfAnyPartOfACommitLoseAndDoubleNothing) {
  for (const std::size_t part : {1, 2, 3}) {
    const std::string url = "https://example.org/" + std::to_string(part);
    add(url);
    std::vector<EntryRecord> posts;
    for (int i = 0; i < 250; ++i) posts.push_back(post("g" + std::to_string(i), 1000 + i));
    const ClaimBatch batch = claim();
    ASSERT_EQ(batch.claims.size(), 1U);
    const Commit commit = plan(batch.claims[0], posts, {.entries = 500});
    proxy.at(test::runs_script(scripts::commit), part, Fault::cut_reply);
    const Commit* const one = &commit;
    EXPECT_FALSE(Ingest(store).commit(std::span(&one, 1)).front());
    send(commit);
    EXPECT_EQ(redis({"ZCARD", url + ":sort"}), "250");
    EXPECT_EQ(redis({"HLEN", url + ":guidmap"}), "250");
    EXPECT_EQ(signals("post_created").size(), 250 * part);
    EXPECT_EQ(redis({"HGET", "state:feed:" + url, "claim"}), "(nil)");
  }
}

class BetweenParts : public LostReplies {};

/// All workers notice flushed scripts at once: the first parts of a commit fail as unknown scripts, the others do not.
TEST_F(BetweenParts, AnotherClientLoadsTheScript) {
  add();
  std::vector<EntryRecord> posts;
  for (int i = 0; i < 250; ++i) {
    posts.push_back(post("g" + std::to_string(i), 1000 + i));
    posts.back().fields.emplace_back("content", std::string(2000, 'x'));  // the proxy forwards each part alone
  }
  const Commit commit = plan(claim_one(), posts, {.entries = 500});
  redis({"SCRIPT", "FLUSH"});
  redis({"CONFIG", "RESETSTAT"});
  const auto is_commit = test::runs_script(scripts::commit);
  int parts = 0;
  proxy.at(
      [&](const auto& words) {
        if (is_commit(words) && ++parts == 2) {
          while (redis({"INFO", "errorstats"}).find("errorstat_NOSCRIPT:count=1") == std::string::npos) {
            std::this_thread::yield();
          }
          redis({"SCRIPT", "LOAD", scripts::commit});
        }
        return false;
      },
      0, Fault::cut_request);
  EXPECT_EQ(send(commit).created, 250U);
  proxy.clear();
  EXPECT_EQ(parts, 6) << "none of the three went through at first";
  EXPECT_NE(redis({"INFO", "errorstats"}).find("errorstat_NOSCRIPT:count=1"), std::string::npos);
  EXPECT_EQ(send(commit).result, Committed::Result::dup);
  EXPECT_EQ(redis({"ZCARD", feed_url + ":sort"}), "250");
  EXPECT_EQ(signals("post_created").size(), 250U);
}

TEST_F(LostReplies, OfAScriptThatIsNotTakenNameTheServerThatIsNeeded) {
  redis({"SCRIPT", "FLUSH"});
  proxy.at(test::is_command("SCRIPT"), 1, Fault::replace_reply, "-ERR Error compiling script\r\n");
  const auto refused = Ingest(store).claim(request(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_NE(refused.error().detail.find("Redis 7.0 or Valkey 7.2 is needed"), std::string::npos);
  EXPECT_TRUE(Ingest(store).claim(request(1)));
}

TEST_F(LostReplies, OfScriptsThatReadKeysNameTheServerThatIsNeeded) {
  proxy.at(test::runs_script(scripts::probe), 1, Fault::replace_reply,
           "-ERR Error running script: script tried accessing undeclared key\r\n");
  const auto refused = store.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_NE(refused.error().detail.find("Redis 7.0 or Valkey 7.2 is needed"), std::string::npos);
  EXPECT_NE(refused.error().detail.find("undeclared key"), std::string::npos);
}

TEST_F(LostReplies, OfAClaimBringTheSameBatchAgainAndNoStrike) {
  add("http://a.org/1");
  add("http://a.org/2");
  auto wanted = request(1);
  wanted.due_by = *store.now() + Milliseconds(1000);
  wanted.max = 10;
  proxy.at(test::runs_script(scripts::claim), 1, Fault::cut_reply);
  EXPECT_FALSE(Ingest(store).claim(wanted));
  const auto again = Ingest(store).claim(wanted);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->claims.size(), 1U);
  EXPECT_EQ(again->claims[0].state.quarantine.strikes, 1U) << "the attempt under way alone";
  ASSERT_EQ(again->deferred.size(), 1U) << "whoever makes one pass must hear of it";
  EXPECT_EQ(again->deferred[0].feed_url, "http://a.org/2");
}

TEST_F(LostReplies, OfAnAttemptOfThisVeryWorkerAreNoDeathOfIt) {
  add("http://a.org/1");
  auto wanted = request(1);
  wanted.lease = Milliseconds(1);
  EXPECT_EQ(Ingest(store).claim(wanted)->claims.size(), 1U);
  wanted.request = 2;
  StoreResult<ClaimBatch> again = ClaimBatch();
  while (again->claims.empty()) again = Ingest(store).claim(wanted);  // until the lease has expired
  EXPECT_FALSE(again->claims[0].alone) << "it lives";
  EXPECT_EQ(again->claims[0].state.quarantine.strikes, 1U);
  wanted.worker = worker_b;
  wanted.request = 1;
  again = ClaimBatch();
  while (again->claims.empty()) again = Ingest(store).claim(wanted);
  EXPECT_TRUE(again->claims[0].alone) << "of another one nobody knows";
}

TEST_F(LostReplies, ThatAnnounceMoreThanAnyHasEndBeforeRoomIsMade) {
  proxy.at([](const auto& words) { return words[0] == "ZRANGE"; }, 0, Fault::replace_reply,
           "*690000000\r\n$1\r\na\r\n");
  const auto urls = Feeds(store).urls_after("", 10'000);
  ASSERT_FALSE(urls);
  EXPECT_NE(urls.error().detail.find("too large"), std::string::npos) << urls.error().detail;
  proxy.clear();
  EXPECT_TRUE(Feeds(store).urls_after("", 10'000)) << "over a new connection";
}

TEST_F(LostReplies, MisshapenOnesAreBugsAndNoCrash) {
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  const Commit* const one = &commit;
  const std::vector<EntryRecord> posts{post("a", 1)};
  const LookUp wanted{feed_url, posts};
  const std::string evil[] = {":7\r\n",
                              "$-1\r\n",
                              "+x\r\n",
                              "*0\r\n",
                              "*1\r\n*0\r\n",
                              "*-1\r\n",
                              "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"};
  std::size_t bugs = 0;
  const auto look_at = [&](const auto& result) {
    if (!result && result.error().code == Code::bug) ++bugs;
  };
  for (const std::string& reply : evil) {
    proxy.clear();
    proxy.at([](const auto& words) { return words[0] != "SCRIPT" && words[0] != "AUTH"; }, 0, Fault::replace_reply,
             reply);
    look_at(Ingest(store).claim(request(9)));
    look_at(Ingest(store).commit(std::span(&one, 1)).front());
    look_at(Ingest(store).look_up(std::span(&wanted, 1)).front());
    look_at(Ingest(store).unspread());
    look_at(Feeds(store).wake(std::vector{feed_url}, Milliseconds(0), false));
    look_at(store.now());
    look_at(Feeds(store).urls_after("", 10'000));
    look_at(Feeds(store).records(std::vector{feed_url}));
    look_at(Fleet(store).figures());
    look_at(EventStream(store).trim());
    look_at(Entries(store).get("Entry:1"));
    look_at(Entries(store).all_by_order(feed_url));
    look_at(EventStream(store).read("0", 10, Milliseconds(0)));
    look_at(Fleet(store).server());
    look_at(store.open());
  }
  EXPECT_GT(bugs, 60U) << "each of most of them";
  proxy.clear();
  EXPECT_EQ(send(commit).result, Committed::Result::dup) << "the server had carried it out";
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "1");
}

class EntryNumbers : public test::StoreTest {};

TEST_F(EntryNumbers, AreNotGivenOutTwiceByAWorkerThatHasSeenThem) {
  add();
  EXPECT_EQ(refresh({post("a", 1)}).highest_entry, 1U);
  add("https://two.org/");
  redis({"SET", "ids:Entry", "0"});  // as after a failover that lost a suffix
  const ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  Commit second = plan(batch.claims[0], {post("b", 1)});
  second.highest_entry = 17;
  EXPECT_EQ(send(second).highest_entry, 18U);
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "18");
}

class Wishes : public test::StoreTest {
 protected:
  std::int64_t due() { return std::stoll(redis({"ZSCORE", "schedule", feed_url})); }
};

TEST_F(Wishes, DuringARefreshAreGrantedAfterItWithTheFloor) {
  add();
  const Claim claimed = claim_one();
  EXPECT_EQ(Feeds(store).wake(std::vector{feed_url}, Milliseconds(60'000), false)->at(0).result, Wake::Result::noted);
  const std::int64_t before = store.now()->count();
  Commit commit = plan(claimed, {});
  commit.next_due = claimed.now + std::chrono::hours(5);
  send(commit);
  EXPECT_GE(due(), before + 60'000);
  EXPECT_LE(due(), store.now()->count() + 60'000);
  EXPECT_EQ(redis({"HMGET", "state:feed:" + feed_url, "wake", "won", "why"}), "(nil) manual manual 60");
}

TEST_F(Wishes, OfAPausedFeedDoNotExplainThatItIsDue) {
  add();
  const Claim claimed = claim_one();
  Feeds(store).wake(std::vector{feed_url}, Milliseconds(60'000), false);
  redis({"HSET", "state:feed:" + feed_url, "push_wake", std::to_string(store.now()->count()) + " ping"});
  Feeds(store).pause(std::vector{feed_url});
  Commit commit = plan(claimed, {});
  commit.next_due = claimed.now + std::chrono::hours(5);
  send(commit);
  EXPECT_EQ(redis({"ZSCORE", "schedule", feed_url}), "(nil)");
  EXPECT_EQ(redis({"HGET", "state:feed:" + feed_url, "won"}), "paused");
}

TEST_F(Wishes, TheStrongestOneCounts) {
  add();
  const Claim claimed = claim_one();
  Feeds(store).wake(std::vector{feed_url}, Milliseconds(60'000), true);
  Feeds(store).wake(std::vector{feed_url}, Milliseconds(60'000), false);
  Commit commit = plan(claimed, {});
  commit.next_due = claimed.now + std::chrono::hours(5);
  send(commit);
  EXPECT_LE(due(), store.now()->count());
}

TEST_F(Wishes, DoNotOverruleARetryAfter) {
  add();
  const Claim claimed = claim_one();
  Feeds(store).wake(std::vector{feed_url}, Milliseconds(0), true);
  Commit commit = plan(claimed, {});
  commit.state.due.not_before = commit.next_due = claimed.now + std::chrono::hours(5);
  send(commit);
  EXPECT_EQ(due(), commit.next_due.count());
}

TEST_F(Wishes, SurviveExactlyOneRelease) {
  add();
  const Claim claimed = claim_one();
  Feeds(store).wake(std::vector{feed_url}, Milliseconds(0), false);
  ASSERT_EQ(*Ingest(store).release(std::vector{claimed}, claimed.now + std::chrono::hours(5)), 1U);
  EXPECT_LE(due(), store.now()->count());
  EXPECT_EQ(redis({"HGET", "state:feed:" + feed_url, "wake"}), "(nil)");
}

}  // namespace
}  // namespace feedmill::server_faults_test
