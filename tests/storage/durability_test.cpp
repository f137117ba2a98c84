// store.durability: ack, fsync, replica (RELIABILITY L18).
#include <thread>

#include "storage/ingest/ingest.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/fault_proxy.hpp"

namespace feedmill::durability_test {
namespace {

using Code = StoreError::Code;
using Fault = test::FaultProxy::Fault;
using test::FaultProxy;
using test::is_command;
using test::redis_command;
using test::RedisServer;

/// The fixture's store, connected through a proxy that can report another server version.
class Durable : public test::StoreTest {
 protected:
  Durable() : proxy(server.admin_url(), FaultProxy::Speaks::redis) {}
  /// `timeout`: short only where a wait must time out, because an fsync may take seconds.
  StoreResult<std::string> open(Durability durability, Milliseconds timeout = StoreOptions().timeout) {
    StoreOptions options{.url = proxy.redis_url_of("feedmill"), .timeout = timeout};
    options.durability = durability;
    store = Store(options);
    return store.open();
  }
  StoreResult<Committed> try_to_send(const Commit& commit) {
    const Commit* const one = &commit;
    return Ingest(store).commit(std::span(&one, 1)).front();
  }
  void be(const std::string& version) {
    const std::string info = "redis_version:" + version + "\r\n";
    proxy.at([](const auto& words) { return words.size() == 2 && words[0] == "INFO" && words[1] == "server"; }, 0,
             Fault::replace_reply, "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
  }

  FaultProxy proxy;
};

TEST_F(Durable, OnDiskNeedsAnAppendOnlyFile) {
  const auto refused = open(Durability::fsync);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_NE(refused.error().detail.find("appendonly yes"), std::string::npos) << refused.error().detail;
}

TEST_F(Durable, OnDiskBefore72NeedsAppendfsyncAlways) {
  be("7.0.15");
  redis({"CONFIG", "SET", "appendonly", "yes"});
  auto refused = open(Durability::fsync);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("config|get"), std::string::npos) << refused.error().detail;
  redis({"ACL", "SETUSER", "feedmill", "+config|get"});
  refused = open(Durability::fsync);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_NE(refused.error().detail.find("everysec"), std::string::npos) << refused.error().detail;
  redis({"CONFIG", "SET", "appendfsync", "always"});
  ASSERT_TRUE(open(Durability::fsync));
  add();
  EXPECT_EQ(refresh({post("a", 1)}).created, 1U);
}

TEST_F(Durable, OnDiskFrom72OnIsWaitedForAndCounted) {
  redis({"CONFIG", "SET", "appendonly", "yes"});
  be("7.4.1");
  const auto waits = is_command("WAITAOF");
  proxy.at(waits, 1, Fault::replace_reply, "*2\r\n:0\r\n:0\r\n");  // sent by open(), to check the permission
  ASSERT_TRUE(open(Durability::fsync));
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  proxy.at(waits, 1, Fault::replace_reply, "*2\r\n:0\r\n:0\r\n");
  const auto late = try_to_send(commit);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timeout);
  EXPECT_NE(late.error().detail.find("not on the server's disk"), std::string::npos) << late.error().detail;
  proxy.at(waits, 1, Fault::replace_reply, "*2\r\n:1\r\n:0\r\n");
  EXPECT_EQ(send(commit).result, Committed::Result::dup) << "it was written before";
  EXPECT_EQ(redis({"GET", "ids:Entry"}), "1");
}

TEST_F(Durable, OnDiskAsTheServerInstalledHereHasIt) {
  redis({"CONFIG", "SET", "appendonly", "yes"});
  redis({"CONFIG", "SET", "appendfsync", "always"});
  const bool can_wait = redis({"ACL", "SETUSER", "feedmill", "+waitaof"}) == "OK";
  if (!can_wait) redis({"ACL", "SETUSER", "feedmill", "+config|get"});
  const auto opened = open(Durability::fsync);
  ASSERT_TRUE(opened) << opened.error().detail;
  add();
  EXPECT_EQ(refresh({post("a", 1)}).created, 1U);
  if (!can_wait) return;
  redis({"ACL", "SETUSER", "feedmill", "-waitaof"});
  const auto refused = open(Durability::fsync);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::auth);
  EXPECT_NE(refused.error().detail.find("waitaof"), std::string::npos) << refused.error().detail;
}

TEST_F(Durable, OnAReplicaIsWaitedForAndCounted) {
  ASSERT_TRUE(open(Durability::replica, Milliseconds(1000)));
  add();
  const Commit commit = plan(claim_one(), {post("a", 1)});
  const auto alone = try_to_send(commit);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Code::timeout);
  EXPECT_NE(alone.error().detail.find("no replica"), std::string::npos) << alone.error().detail;

  RedisServer second;
  FaultProxy replication(server.admin_url());
  redis_command(second, {"REPLICAOF", "127.0.0.1", std::to_string(replication.port())});
  while (redis({"WAIT", "1", "100"}) != "1") std::this_thread::yield();
  StoreResult<Committed> done = alone.error();
  while (!done) done = try_to_send(commit);  // until the replica has caught up
  EXPECT_EQ(done->result, Committed::Result::dup);
  EXPECT_EQ(redis_command(second, {"GET", "ids:Entry"}), "1");

  replication.down();
  ASSERT_FALSE(try_to_send(commit)) << "repeated, it is not taken for durable because an older write was";
}

TEST_F(Durable, ByReplicaNeedsTheRightToWait) {
  redis({"ACL", "SETUSER", "feedmill", "-wait"});
  const auto refused = open(Durability::replica);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::auth);
  EXPECT_NE(refused.error().detail.find("+wait"), std::string::npos) << refused.error().detail;
  EXPECT_TRUE(open(Durability::ack));
}

}  // namespace
}  // namespace feedmill::durability_test
