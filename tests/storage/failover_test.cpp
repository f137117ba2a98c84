// Another server becomes primary: how the store finds it, and which ids it assigns from then on (RELIABILITY L24, L25).
#include <chrono>

#include "storage/feeds/fleet.hpp"
#include "storage/redis/redis.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/set_clock.hpp"
#include "tests/support/watched_redis.hpp"

namespace feedmill::failover_test {
namespace {

using namespace std::chrono_literals;
using Code = StoreError::Code;
using test::ClockedRedis;
using test::FaultProxy;
using test::feed_url;
using test::is_command;
using test::redis_command;
using test::RedisServer;
using test::WatchedRedis;

TEST(SentinelUrls, NameSentinelsAServiceAndADatabase) {
  const auto address = parse_redis_url("redis+sentinel://me:p%40ss@one,[::1]:7,two.example:26380/my-master.1/3");
  ASSERT_TRUE(address) << address.error().detail;
  ASSERT_EQ(address->sentinels.size(), 3U);
  EXPECT_EQ(address->sentinels[0].host, "one");
  EXPECT_EQ(address->sentinels[0].port, 26379);
  EXPECT_EQ(address->sentinels[1].host, "::1");
  EXPECT_EQ(address->sentinels[1].port, 7);
  EXPECT_EQ(address->sentinels[2].port, 26380);
  EXPECT_EQ(address->service, "my-master.1");
  EXPECT_EQ(address->database, 3);
  EXPECT_EQ(address->user, "me");
  EXPECT_EQ(address->password, "p@ss");
  EXPECT_FALSE(address->tls);
}

TEST(SentinelUrls, ThatMakeNoSenseAreRefusedWithWhatToWrite) {
  for (const auto& [url, says] : {std::pair("redis+sentinel://one:26379", "redis+sentinel://host:26379/mymaster"),
                                  {"redis+sentinel://one:26379/", "redis+sentinel://host:26379/mymaster"},
                                  {"redis+sentinel://one/my master", "redis+sentinel://host:26379/mymaster"},
                                  {"redis+sentinel://one:0/mymaster", "bad port"},
                                  {"redis+sentinel://one,two:x/mymaster", "bad port"},
                                  {"redis+sentinel://one/mymaster/db", "database number"},
                                  {"redis+sentinel://one/mymaster/-1", "database number"}}) {
    const auto address = parse_redis_url(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, Code::unsupported);
    EXPECT_NE(address.error().detail.find(says), std::string::npos) << url << ": " << address.error().detail;
  }
}

/// A primary with a replica that lacks its latest writes and has a different clock.
class LostSuffix : public test::StoreTest, public testing::WithParamInterface<std::chrono::milliseconds> {
 protected:
  LostSuffix() : replication(server.admin_url()), name(server.admin_url(), FaultProxy::Speaks::redis) {
    store = Store(StoreOptions{.url = name.redis_url_of("feedmill"), .timeout = Milliseconds(2000)});
    EXPECT_TRUE(store.open());
  }

  void SetUp() override {
    add();
    refresh({post("a", 1), post("b", 2)});
    redis({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
    redis_command(replica.server(), {"REPLICAOF", "127.0.0.1", std::to_string(replication.port())});
    ASSERT_TRUE(test::eventually([&] { return there({"GET", "ids:Entry"}) == "2"; }));
    shared = there({"HGET", "meta:store", "last_signal"});
    replication.down();
    refresh({post("a", 1), post("b", 2), post("c", 3)});
    ASSERT_EQ(redis({"GET", "ids:Entry"}), "3");
    lost = redis({"HGET", "meta:store", "last_signal"});
    ASSERT_EQ(there({"GET", "ids:Entry"}), "2");
  }

  void fail_over() {
    redis_command(replica.server(), {"REPLICAOF", "NO", "ONE"});
    name.lead_to(replica.server().admin_url());
    name.cut();
    store.disconnect();
  }
  std::string there(const std::vector<std::string>& words) { return redis_command(replica.server(), words); }
  /// Makes the feed due on the replica, even if its host's gate is closed by a clock that was ahead.
  void make_due_there() {
    there({"ZADD", "schedule", "XX", "1", feed_url});
    there({"DEL", "state:host:example.org"});
  }

  FaultProxy replication, name;
  ClockedRedis replica{
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()) +
      GetParam()};
  std::string shared, lost;  // event ids: the last one on both servers, the last one on the primary only
};

TEST_P(LostSuffix, IsPassedByWhateverIsGivenOutNext) {
  fail_over();
  EXPECT_TRUE(Fleet(store).server()) << "which connects, and is not who would write";
  make_due_there();
  ClaimBatch batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  const Committed again = send(plan(batch.claims[0], {post("a", 1), post("b", 2), post("c", 3)}));
  EXPECT_EQ(again.created, 1U) << "c, which was lost";
  EXPECT_GT(again.highest_entry, 1'000'000U);
  EXPECT_GT(again.last_event, event_place(lost));

  const auto since = EventStream(store).since(lost, 10);
  ASSERT_TRUE(since) << since.error().detail;
  ASSERT_TRUE(since->records) << "somebody who has read the lost one goes on from there";
  ASSERT_FALSE(since->records->empty());
  const auto first = boost::json::parse(since->records->front().json).as_object();
  EXPECT_EQ(first.at("prev").as_string(), shared) << "which tells that something between was lost";
  EXPECT_LT(event_place(shared), event_place(lost));
  EXPECT_EQ(there({"HGET", "meta:store", "failovers"}), "1");

  store.disconnect();
  make_due_there();
  batch = claim();
  ASSERT_EQ(batch.claims.size(), 1U);
  const Committed next = send(plan(batch.claims[0], {post("a", 1), post("b", 2), post("c", 3), post("d", 4)}));
  EXPECT_EQ(next.highest_entry, again.highest_entry + 1) << "one failover, one gap";
  EXPECT_EQ(there({"HGET", "meta:store", "failovers"}), "1");
}

TEST_P(LostSuffix, DoesNotInvalidateCursorsOfItsReaders) {
  fail_over();
  const auto since = EventStream(store).since(lost, 10);
  ASSERT_TRUE(since) << since.error().detail;
  ASSERT_TRUE(since->records);
  EXPECT_TRUE(since->records->empty());
}

/// A stalled primary does not know yet that it has been replaced. Its data is stale: a post that exists only there
/// would count as stored, and be lost.
TEST_P(LostSuffix, IsNotReadForWhatTheNextPrimaryGaveOut) {
  redis_command(replica.server(), {"REPLICAOF", "NO", "ONE"});
  make_due_there();
  Store next(StoreOptions{.url = replica.server().admin_url()});
  ASSERT_TRUE(next.open());
  ClaimRequest request;
  request.worker = std::string(32, 'b');
  request.request = 1;
  const auto batch = Ingest(next).claim(request);
  ASSERT_TRUE(batch && batch->claims.size() == 1);
  const Claim& claim = batch->claims.front();
  EXPECT_EQ(claim.failovers, 1U);

  const std::vector<EntryRecord> posts{post("c", 3, "edited")};
  const FeedToRead feed{feed_url, claim.failovers};
  const LookUp look_up{feed_url, posts, {}, {}, nullptr, claim.failovers};
  for (Store* asked : {&store, &next}) {
    const auto stored = Ingest(*asked).stored_feeds(std::span(&feed, 1)).front();
    const auto known = Ingest(*asked).look_up(std::span(&look_up, 1)).front();
    if (asked == &next) {
      EXPECT_TRUE(stored && known);
      continue;
    }
    ASSERT_TRUE(!stored && !known);
    EXPECT_EQ(stored.error().code, Code::unavailable) << stored.error().detail;
    EXPECT_EQ(known.error().code, Code::unavailable) << known.error().detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Clock, LostSuffix, testing::Values(-10min, -3s, 3s), [](const auto& offset) {
  return (offset.param < 0ms ? "Behind" : "Ahead") + std::to_string(std::abs(offset.param.count()));
});

/// A name moves to another server while a dead connection to the old one is still open.
TEST(AHalfOpenConnection, IsReplacedByOneToTheNamesNewServer) {
  const RedisServer first, second;
  FaultProxy name(first.admin_url(), FaultProxy::Speaks::redis);
  Store store(StoreOptions{.url = name.redis_url_of("feedmill"), .timeout = Milliseconds(300)});
  ASSERT_TRUE(store.open());
  name.at([](const auto&) { return true; }, 1, FaultProxy::Fault::swallow_reply);
  const auto lost = Feeds(store).add(std::vector{NewFeed{feed_url, {}, "", ""}});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::timeout);
  name.lead_to(second.admin_url());
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{feed_url, {}, "", ""}}));
  EXPECT_EQ(redis_command(second, {"SCARD", "feeds"}), "1");
}

class SameServer : public testing::Test {
 protected:
  SameServer() : server({"--appendonly", "yes", "--appendfsync", "always"}) {}
  RedisServer server;
};

TEST_F(SameServer, RestartedContinuesItsNumbers) {
  Store store(StoreOptions{.url = server.admin_url()});
  ASSERT_TRUE(store.open());
  redis_command(server, {"SET", "ids:Entry", "5"});
  const std::string before = redis_command(server, {"HGET", "meta:store", "primary"});
  EXPECT_EQ(before.size(), 40U);
  server.kill();
  server.start();
  store.disconnect();
  ASSERT_TRUE(store.open());
  EXPECT_EQ(redis_command(server, {"GET", "ids:Entry"}), "5");
  EXPECT_NE(redis_command(server, {"HGET", "meta:store", "primary"}), before);
  EXPECT_EQ(redis_command(server, {"HGET", "meta:store", "failovers"}), "(nil)");
  EXPECT_EQ(redis_command(server, {"HGET", "meta:store", "signals_from"}), "(nil)");
}

/// Its newest writes may be lost, although other programs have seen them.
TEST_F(SameServer, CrashedUnderAWorkerSkipsNumbers) {
  const std::string worker(32, 'a');
  for (const bool retires : {true, false}) {
    Store store(StoreOptions{.url = server.admin_url()});
    ASSERT_TRUE(store.open());
    ASSERT_TRUE(Fleet(store).heartbeat(worker, {{"host", "one"}}, 20s, true));
    if (retires) {
      ASSERT_TRUE(Fleet(store).retire(worker));
    }
    redis_command(server, {"SET", "ids:Entry", "5"});
    server.kill();
    server.start();
    store.disconnect();
    ASSERT_TRUE(store.open());
    EXPECT_EQ(redis_command(server, {"GET", "ids:Entry"}), retires ? "5" : "1000005");
    EXPECT_EQ(redis_command(server, {"HGET", "meta:store", "failovers"}), "(nil)");
  }
}

TEST_F(SameServer, ReadOnlyClientNeverWrites) {
  StoreOptions options{.url = server.admin_url()};
  options.reads_only = true;
  Store store(options);
  ASSERT_TRUE(store.open(false));
  EXPECT_EQ(redis_command(server, {"EXISTS", "meta:store"}), "0");
}

class EventIds : public test::StoreTest {};

/// RELIABILITY L8.
TEST_F(EventIds, ContinueAfterTheLastIdAWorkerSaw) {
  add();
  const Committed first = refresh({post("a", 1)});
  EXPECT_EQ(first.last_event, event_place(redis({"HGET", "meta:store", "last_signal"})));
  Commit second = plan(claim_one(), {post("a", 1), post("b", 2)});
  second.last_event = {first.last_event.milliseconds + 3'600'000, 7};
  const Committed done = send(second);
  EXPECT_EQ(done.last_event.milliseconds, second.last_event.milliseconds);
  EXPECT_GT(done.last_event.number, 7U);
  const auto events = signals();
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_EQ(events[i].at("prev"), events[i - 1].at("seq")) << i;
}

class Sentinels : public testing::Test {
 protected:
  static void SetUpTestSuite() { watched = new WatchedRedis; }
  static void TearDownTestSuite() {
    delete watched;
    watched = nullptr;
  }
  static StoreOptions options(const std::string& url) {
    return StoreOptions{.url = url, .timeout = Milliseconds(3000)};
  }
  static std::string of(const std::string& hosts, const std::string& service = "mymaster") {
    return "redis+sentinel://" + hosts + "/" + service;
  }
  static std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

  static WatchedRedis* watched;
};
WatchedRedis* Sentinels::watched = nullptr;

TEST_F(Sentinels, NameThePrimaryAndItsSuccessor) {
  Store store(options(watched->worker_url()));
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(Feeds(store).add(std::vector{NewFeed{"https://one.org/", {}, "", ""}}));
  watched->await_replicas();
  const std::size_t first = watched->primary();
  redis_command(watched->node(first), {"SET", "ids:Entry", "17"});
  watched->await_replicas();
  watched->hand_over();
  const std::size_t second = watched->await_another(first);
  // The old primary accepts writes until it is demoted; those writes are lost.
  StoreResult<std::vector<bool>> added = StoreError{};
  EXPECT_TRUE(test::eventually([&] {
    added = Feeds(store).add(std::vector{NewFeed{"https://two.org/", {}, "", ""}});
    return redis_command(watched->node(second), {"SCARD", "feeds"}) == "2";
  }));
  ASSERT_TRUE(added) << added.error().detail;
  EXPECT_EQ(redis_command(watched->node(second), {"GET", "ids:Entry"}), "1000017");
}

TEST_F(Sentinels, ThatDoNotAnswerArePassedOver) {
  Store store(options(of(at(1) + "," + at(watched->sentinel_port(1)))));
  EXPECT_TRUE(store.open());
}

TEST_F(Sentinels, UnreachableOnesAreNamed) {
  Store store(options(of(at(1) + "," + at(2))));
  const auto opened = store.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unavailable);
  EXPECT_NE(opened.error().detail.find("127.0.0.1:1: "), std::string::npos) << opened.error().detail;
  EXPECT_NE(opened.error().detail.find("127.0.0.1:2: "), std::string::npos) << opened.error().detail;
}

TEST_F(Sentinels, UnknownServiceNameIsReported) {
  Store store(options(of(at(watched->sentinel_port(0)), "theirs")));
  const auto opened = store.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unsupported);
  EXPECT_NE(opened.error().detail.find("it does not know \"theirs\""), std::string::npos) << opened.error().detail;
}

TEST_F(Sentinels, ServersInTheirPlaceAreRecognised) {
  Store store(options(of(at(watched->port(watched->primary())))));
  const auto opened = store.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unsupported);
  const std::string server = at(watched->port(watched->primary()));
  EXPECT_NE(opened.error().detail.find("it is not a sentinel; for one server write redis://" + server +
                                       ", for a cluster node redis+cluster://" + server),
            std::string::npos)
      << opened.error().detail;
}

TEST_F(Sentinels, AreNotTakenForServers) {
  for (const bool reads : {false, true}) {
    StoreOptions wrong = options("redis://" + at(watched->sentinel_port(2)));
    wrong.reads_only = reads;
    Store store(wrong);
    const auto opened = store.open(false);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::unsupported);
    EXPECT_NE(opened.error().detail.find("redis+sentinel://" + at(watched->sentinel_port(2)) + "/mymaster"),
              std::string::npos)
        << opened.error().detail;
    const auto facts = Fleet(store).server();
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().detail, opened.error().detail) << "doctor says the same";
  }
}

TEST_F(Sentinels, ThatNameAReplicaAreNotBelieved) {
  watched->await_replicas();
  const std::size_t primary = watched->primary(), replica = (primary + 1) % watched->nodes();
  FaultProxy behind(at(watched->sentinel_port(0)), FaultProxy::Speaks::redis);
  const std::string port = std::to_string(watched->port(replica));
  behind.at(is_command("SENTINEL"), 0, FaultProxy::Fault::replace_reply,
            "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n");
  Store alone(options(of(behind.address())));
  const auto opened = alone.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::unavailable);
  EXPECT_NE(opened.error().detail.find("is a replica"), std::string::npos) << opened.error().detail;
  Store with_another(options(of(behind.address() + "," + at(watched->sentinel_port(1)))));
  EXPECT_FALSE(with_another.open());
  EXPECT_TRUE(with_another.open()) << "the other is asked first now";
}

TEST_F(Sentinels, EachWatchedReplicaIsQueried) {
  watched->await_replicas();
  Store store(options(watched->worker_url()));
  const auto good = Fleet(store).server();
  ASSERT_TRUE(good) << good.error().detail;
  ASSERT_EQ(good->standbys.size(), 2U);
  for (const StandbyFacts& standby : good->standbys) {
    EXPECT_EQ(standby.trouble, "") << standby.address;
    EXPECT_EQ(standby.policy, "noeviction");
    EXPECT_LT(abs(standby.now - standby.then), std::chrono::seconds(2)) << "it is the same clock";
  }
  std::vector<std::size_t> replicas;
  for (std::size_t node = 0; node < watched->nodes(); ++node) {
    if (node != watched->primary()) replicas.push_back(node);
  }
  redis_command(watched->node(replicas[0]), {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  redis_command(watched->node(replicas[1]), {"ACL", "SETUSER", "feedmill", "off"});
  const auto bad = Fleet(store).server();
  redis_command(watched->node(replicas[0]), {"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  redis_command(watched->node(replicas[1]), {"ACL", "SETUSER", "feedmill", "on"});
  ASSERT_TRUE(bad) << bad.error().detail;
  ASSERT_EQ(bad->standbys.size(), 2U);
  for (const StandbyFacts& standby : bad->standbys) {
    if (standby.address == at(watched->port(replicas[0]))) {
      EXPECT_EQ(standby.policy, "allkeys-lru");
    } else {
      EXPECT_EQ(standby.address, at(watched->port(replicas[1])));
      EXPECT_TRUE(standby.trouble.starts_with("WRONGPASS")) << standby.trouble;
    }
  }
}

TEST_F(Sentinels, HaveUsersOfTheirOwn) {
  ASSERT_EQ(watched->ask_sentinel(2, {"ACL", "SETUSER", "asker", "on", ">secret", "+sentinel"}), "OK");
  ASSERT_EQ(watched->ask_sentinel(2, {"ACL", "SETUSER", "default", "off"}), "OK");
  StoreOptions known = options(of("feedmill:feedmill@" + at(watched->sentinel_port(2))));
  Store stranger(known);
  const auto refused = stranger.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::auth);
  EXPECT_NE(refused.error().detail.find("redis.sentinel_password_file"), std::string::npos) << refused.error().detail;
  known.sentinel_user = "asker";
  known.sentinel_password = "secret";
  Store friendly(known);
  const auto opened = friendly.open();
  EXPECT_TRUE(opened) << opened.error().detail;
  known.sentinel_password = "wrong";
  Store mistaken(known);
  const auto mistake = mistaken.open();
  ASSERT_FALSE(mistake);
  EXPECT_EQ(mistake.error().code, Code::auth) << mistake.error().detail;
}

}  // namespace
}  // namespace feedmill::failover_test
