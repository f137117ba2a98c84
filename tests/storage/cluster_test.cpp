// The store in a Redis Cluster: how it is found, and the errors if it is not (RELIABILITY L26).
#include <chrono>

#include "storage/feeds/fleet.hpp"
#include "storage/redis/placement.hpp"
#include "storage/store/partition.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/clustered_redis.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/watched_redis.hpp"

namespace feedmill::cluster_test {
namespace {

using namespace std::chrono_literals;
using Code = StoreError::Code;
using test::ClusteredRedis;
using test::feed_url;
using test::redis_command;
using test::RedisServer;

TEST(ClusterUrls, NameSomeOfTheNodes) {
  const auto address = parse_redis_url("redis+cluster://me:p%40ss@one,[::1]:7,two.example:7001");
  ASSERT_TRUE(address) << address.error().detail;
  EXPECT_EQ(address->cluster, (std::vector<NodeAddress>{{"one", 6379}, {"::1", 7}, {"two.example", 7001}}));
  EXPECT_EQ(address->user, "me");
  EXPECT_EQ(address->password, "p@ss");
  EXPECT_TRUE(address->sentinels.empty());
  EXPECT_TRUE(parse_redis_url("redis+cluster://one/0")) << "the one that there is";
}

TEST(ClusterUrls, ThatMakeNoSenseAreRefusedWithWhatToWrite) {
  for (const auto& [url, says] :
       {std::pair("redis+cluster://one:7000/1", "a cluster has no databases"),
        {"redis+cluster://one:7000/mymaster", "a cluster has no databases"},
        {"redis+cluster://one:0", "bad port"},
        {"redis+cluster://one,two:x", "bad port"},
        {"redis+cluster://u:p@one,u:p@two", "one login is for all servers"},
        {"redis+sentinel://u:p@one,u:p@two/s", "one login is for all servers"},
        {"redis+cluster://one:7000?x=1", "takes no query"},
        {"redis+cluster://one:7000/?x=1", "takes no query"},
        {"redis+sentinel://one/mymaster?db=1", "takes no query"},
        {"redis://u:p@one/0?x=1", "takes no query"},
        {"redis://one:7000,two:7001", "redis+sentinel://HOST:PORT,HOST:PORT/SERVICE or redis+cluster://"},
        {"redis://:p,q@one,two/1", "redis+cluster://HOST:PORT,HOST:PORT"},
        {"cluster://one", "redis+cluster://host:port"}}) {
    const auto address = parse_redis_url(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, Code::unsupported);
    EXPECT_NE(address.error().detail.find(says), std::string::npos) << url << ": " << address.error().detail;
  }
}

std::string cluster_url(std::uint16_t port) {
  return "redis+cluster://127.0.0.1:" + std::to_string(port);
}

/// The error of open(), which must be equal for readers and writers.
StoreError refusal(const std::string& url) {
  StoreError said;
  for (const bool reads : {false, true}) {
    StoreOptions options{.url = url, .timeout = 2000ms};
    options.reads_only = reads;
    Store store(options);
    const auto opened = store.open(false);
    EXPECT_FALSE(opened) << url;
    if (opened) continue;
    EXPECT_TRUE(said.detail.empty() || said.detail == opened.error().detail) << opened.error().detail;
    said = opened.error();
  }
  return said;
}

TEST(NoCluster, IsRefusedWithTheLineToWrite) {
  const std::uint16_t port = test::free_port();
  const RedisServer single({"--port", std::to_string(port)});
  const StoreError said = refusal(cluster_url(port));
  EXPECT_EQ(said.code, Code::unsupported);
  EXPECT_NE(said.detail.find("it is not a cluster node; for one server write redis://127.0.0.1:" +
                             std::to_string(port) + ", for a sentinel redis+sentinel://127.0.0.1:"),
            std::string::npos)
      << said.detail;
  const test::WatchedRedis watched(1, 1);
  const StoreError of_sentinel = refusal(cluster_url(watched.sentinel_port(0)));
  EXPECT_EQ(of_sentinel.code, Code::unsupported) << of_sentinel.detail;
  EXPECT_NE(of_sentinel.detail.find("redis+sentinel://"), std::string::npos) << of_sentinel.detail;
}

TEST(NoCluster, OfNodesThatWereNeverJoinedIsWaitedFor) {
  const std::uint16_t port = test::free_port();
  const RedisServer node({"--cluster-enabled", "yes", "--port", std::to_string(port), "--cluster-port",
                          std::to_string(test::free_port())});
  const StoreError said = refusal(cluster_url(port) + ",127.0.0.1:" + std::to_string(test::free_port()));
  EXPECT_EQ(said.code, Code::loading) << said.detail;
  EXPECT_NE(said.detail.find("no node holds slot"), std::string::npos) << said.detail;
  EXPECT_NE(said.detail.find("Connection refused"), std::string::npos) << "of the second one: " << said.detail;
}

TEST(AClusterNode, OfAPlainUrlIsRefusedForReadersAndWriters) {
  const std::uint16_t port = test::free_port();
  const RedisServer node({"--cluster-enabled", "yes", "--port", std::to_string(port), "--cluster-port",
                          std::to_string(test::free_port())});
  const std::string server = "127.0.0.1:" + std::to_string(port);
  for (const auto& [url, instead] : {std::pair(node.admin_url(), std::string("host:port")),
                                     {node.admin_url() + "?db=3", "host:port"},
                                     {"redis://" + server, server},
                                     {"redis://default:any@" + server, "USER:PASSWORD@" + server}}) {
    for (const bool has_the_slot : {false, true}) {
      redis_command(node, {"CLUSTER", has_the_slot ? "ADDSLOTSRANGE" : "DELSLOTSRANGE", "0", "16383"});
      const StoreError said = refusal(url);
      EXPECT_EQ(said.code, Code::unsupported) << has_the_slot << " " << said.detail;
      EXPECT_NE(said.detail.find("write redis+cluster://" + instead), std::string::npos) << said.detail;
    }
  }
}

TEST(AStore, OfMorePartitionsIsLeftToANewerProgram) {
  const RedisServer server;
  redis_command(server, {"HSET", "meta:store", "schema", "1", "partitions", "256"});
  const StoreError said = refusal(server.url());
  EXPECT_EQ(said.code, Code::unsupported);
  EXPECT_NE(said.detail.find("256 partitions"), std::string::npos) << said.detail;
}

/// The former address of a node now belongs to another server.
TEST(ANodesAddress, ThatLeadsToAnotherServerIsNotBelieved) {
  const std::uint16_t stranger_port = test::free_port(), port = test::free_port(), bus = test::free_port();
  const RedisServer stranger({"--port", std::to_string(stranger_port)});
  const RedisServer node({"--cluster-enabled", "yes", "--port", std::to_string(port), "--cluster-port",
                          std::to_string(bus), "--cluster-announce-port", std::to_string(stranger_port)});
  redis_command(node, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  ASSERT_NE(redis_command(node, {"CLUSTER", "SLOTS"}).find(std::to_string(stranger_port)), std::string::npos);
  const StoreError said = refusal(cluster_url(port));
  EXPECT_EQ(said.code, Code::unavailable);
  EXPECT_NE(said.detail.find("is not a cluster node"), std::string::npos) << said.detail;
  EXPECT_EQ(redis_command(stranger, {"DBSIZE"}), "0");
}

TEST(InACluster, TheStoreIsInOneSlotAndFollowsIt) {
  ClusteredRedis cluster;
  EXPECT_EQ(std::to_string(slot_of_tag(tag_of(Partition()))),
            redis_command(cluster.node(0), {"CLUSTER", "KEYSLOT", "{p000}:stream:signals"}));
  Store store(StoreOptions{.url = cluster.url_of("feedmill"), .timeout = 2000ms});
  ASSERT_TRUE(store.open()) << store.open().error().detail;
  ASSERT_TRUE(Feeds(store).add(std::vector<NewFeed>{{.feed_url = feed_url}}));
  const auto size = [&](std::size_t node) { return redis_command(cluster.node(node), {"DBSIZE"}); };
  const auto record = [&](Store& of) {
    const auto records = Feeds(of).records(std::span(&feed_url, 1));
    return records && records->front();
  };
  const std::size_t before = cluster.primary();
  EXPECT_NE(size(before), "0");
  for (std::size_t i = 0; i < cluster.nodes(); ++i) {
    const bool is_primary =
        redis_command(cluster.node(i), {"INFO", "replication"}).find("role:master") != std::string::npos;
    if (!is_primary || i == before) continue;
    EXPECT_EQ(size(i), "0") << i;
  }
  const auto facts = Fleet(store).server();
  ASSERT_TRUE(facts);
  EXPECT_NE(facts->link.find("as its cluster says"), std::string::npos) << facts->link;

  cluster.move_slot([&] {
    ClaimRequest request;
    request.worker = std::string(32, 'a');
    request.request = 1;
    const auto batch = Ingest(store).claim(request);
    ASSERT_FALSE(batch) << "a part of its keys is elsewhere";
    EXPECT_EQ(batch.error().code, Code::loading) << batch.error().detail;
  });
  EXPECT_NE(cluster.primary(), before);
  EXPECT_EQ(size(before), "0") << "nothing was written there since";
  EXPECT_TRUE(test::eventually([&] { return record(store); })) << "over the connection to whom held it before";
  StoreOptions looks{.url = cluster.url_of("feedmill_viewer"), .timeout = 2000ms};
  looks.reads_only = true;
  Store fresh(looks);
  EXPECT_TRUE(fresh.open(false));
  EXPECT_TRUE(record(fresh));

  cluster.await_replicas();
  cluster.node(cluster.primary()).kill();
  EXPECT_TRUE(test::eventually([&] { return record(store); })) << "its replica took over";
}

/// A new connection knows the nodes that an earlier one learned.
TEST(InACluster, ANewConnectionFindsItsWayWhereTheNodeOfTheUrlIsGone) {
  ClusteredRedis cluster;
  const std::size_t holder = cluster.primary(), named = holder == 0 ? 1 : 0;
  const StoreOptions options{.url = cluster_url(cluster.port(named)), .timeout = 2000ms};
  ASSERT_TRUE(Store(options).open());
  cluster.node(named).kill();
  const auto opened = Store(options).open();
  EXPECT_TRUE(opened) << opened.error().detail;
}

/// After one connection timed out, later connections to that node fail at once.
TEST(InACluster, LaterConnectionsDoNotWaitForAStalledNode) {
  ClusteredRedis cluster;
  const std::size_t holder = cluster.primary();
  const StoreOptions options{.url = cluster.url(), .timeout = 300ms};
  Store first(options);
  ASSERT_TRUE(first.open());
  cluster.pause(holder);
  const auto late = first.now();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, StoreError::Code::timeout);
  const auto beside = Store(options).now();
  ASSERT_FALSE(beside);
  EXPECT_NE(beside.error().detail.find("a moment ago"), std::string::npos) << beside.error().detail;
  cluster.resume(holder);
  EXPECT_TRUE(test::eventually([&] { return Store(options).now().has_value(); }));
}

}  // namespace
}  // namespace feedmill::cluster_test
