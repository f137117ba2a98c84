// The storage layer's behaviour on a faulty network, and the fault proxy itself.
#include "tests/support/fault_proxy.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "storage/redis/redis.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::test::fault_proxy_test {
namespace {

using Fault = FaultProxy::Fault;
using Towards = FaultProxy::Towards;

class FaultProxyTest : public testing::Test {
 protected:
  Redis connect(Milliseconds timeout = Milliseconds(5000)) { return {*parse_redis_url(proxy.redis_url()), timeout}; }
  std::string behind(const std::vector<std::string>& words) { return redis_command(server, words); }

  RedisServer server;
  FaultProxy proxy{server.admin_url(), FaultProxy::Speaks::redis};
};

TEST_F(FaultProxyTest, ForwardsCommandsWithoutAFault) {
  Redis redis = connect();
  const std::string odd("a\0\r\n\xFF$-1\r\n", 10);
  redis.connect();
  redis.append({"SET", "k", odd});
  redis.append({"GET", "k"});
  EXPECT_TRUE(redis.next());
  EXPECT_EQ(redis.next()->text(), odd);
  EXPECT_EQ(proxy.connections(), 1U);
  EXPECT_GT(proxy.passed(Towards::server), 0U);
}

TEST_F(FaultProxyTest, CutsTheReplyOfTheNthMatchingCommandAfterItWasCarriedOut) {
  Redis redis = connect();
  proxy.at(is_command("incr"), 2, Fault::cut_reply);
  EXPECT_EQ(redis.command({"INCR", "n"})->integer(), 1);
  const auto lost = redis.command({"INCR", "n"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, StoreError::Code::unavailable);
  EXPECT_EQ(behind({"GET", "n"}), "2");
  EXPECT_EQ(redis.command({"INCR", "n"})->integer(), 3);
  EXPECT_EQ(proxy.faults(), 1U);
}

TEST_F(FaultProxyTest, CutsARequestBeforeTheServerSeesIt) {
  Redis redis = connect();
  proxy.at(is_command("INCR"), 1, Fault::cut_request);
  EXPECT_FALSE(redis.command({"INCR", "n"}));
  EXPECT_TRUE(proxy.wait_for_faults(1));
  EXPECT_EQ(behind({"GET", "n"}), "(nil)");
}

TEST_F(FaultProxyTest, SwallowsAndReplacesReplies) {
  Redis redis = connect(Milliseconds(100));
  proxy.at(is_command("GET"), 1, Fault::swallow_reply);
  EXPECT_EQ(redis.command({"GET", "k"}).error().code, StoreError::Code::timeout);
  proxy.at(is_command("GET"), 1, Fault::replace_reply, "-OOM command not allowed\r\n");
  EXPECT_EQ(redis.command({"GET", "k"}).error().code, StoreError::Code::out_of_memory);
}

TEST_F(FaultProxyTest, HoldsAReplyUntilItIsLetGo) {
  Redis redis = connect();
  proxy.at(is_command("INCR"), 1, Fault::hold_reply);
  std::thread test([&] {
    EXPECT_TRUE(proxy.wait_for_faults(1));
    EXPECT_EQ(behind({"INCR", "n"}), "2");
    proxy.let_go();
  });
  EXPECT_EQ(redis.command({"INCR", "n"})->integer(), 1);
  test.join();
}

TEST_F(FaultProxyTest, SplitsMergesDelaysAndLimits) {
  const std::string value(3000, 'x');
  for (const FaultProxy::Shape& shape :
       {FaultProxy::Shape{.piece = 1}, FaultProxy::Shape{.merge = std::chrono::milliseconds(5)},
        FaultProxy::Shape{.delay = std::chrono::milliseconds(2)}, FaultProxy::Shape{.bytes_per_second = 1'000'000}}) {
    proxy.shape(Towards::server, shape);
    proxy.shape(Towards::client, shape);
    Redis redis = connect();
    EXPECT_TRUE(redis.command({"SET", "k", value}));
    EXPECT_EQ(redis.command({"GET", "k"})->text(), value);
  }
}

TEST_F(FaultProxyTest, ClosesAfterSoManyBytesOfAReply) {
  ASSERT_EQ(behind({"SET", "k", "0123456789"}), "OK");
  for (const std::uint64_t bytes : {0, 1, 5, 10}) {
    proxy.shape(Towards::client, {.close_after = bytes});
    Redis redis = connect();
    EXPECT_EQ(redis.command({"GET", "k"}).error().code, StoreError::Code::unavailable) << bytes;
  }
}

TEST_F(FaultProxyTest, DropsAndCorrupts) {
  Redis redis = connect(Milliseconds(100));
  proxy.shape(Towards::server, {.drop = true});
  EXPECT_EQ(redis.command({"PING"}).error().code, StoreError::Code::timeout);
  proxy.shape(Towards::server, {});
  proxy.shape(Towards::client, {.corrupt_at = 0});  // "+PONG" becomes "*PONG"
  EXPECT_FALSE(redis.command({"PING"}));
}

TEST_F(FaultProxyTest, RefusesAndComesBackOnTheSamePort) {
  Redis redis = connect();
  ASSERT_TRUE(redis.command({"PING"}));
  proxy.down();
  EXPECT_FALSE(redis.command({"PING"}));
  const auto refused = redis.command({"PING"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("refused"), std::string::npos) << refused.error().detail;
  proxy.up();
  EXPECT_TRUE(redis.command({"PING"}));
}

}  // namespace
}  // namespace feedmill::test::fault_proxy_test
