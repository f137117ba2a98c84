// Tests that share a redis-server find nothing of each other in it.
#include "tests/support/redis_server.hpp"

#include <fstream>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "storage/redis/redis.hpp"

namespace feedmill::test::redis_server_test {
namespace {

Redis connection_to(const RedisServer& server) {
  return {*parse_redis_url(server.admin_url()), Milliseconds(5000)};
}

TEST(SharedRedis, IsEmptyAndWithoutClients) {
  std::optional<RedisServer> before(std::in_place);
  const pid_t pid = before->pid();
  const auto path = before->socket();
  Redis left = connection_to(*before), again = connection_to(*before);
  ASSERT_TRUE(left.command({"SET", "key", "value"}));
  ASSERT_TRUE(left.command({"SELECT", "3"}));
  ASSERT_TRUE(left.command({"SET", "key", "value"}));
  ASSERT_TRUE(
      left.command({"FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 1 end)"}));
  std::ofstream(before->directory() / "file") << "text";
  before.reset();

  const RedisServer after;
  ASSERT_EQ(after.pid(), pid);
  EXPECT_EQ(redis_command(after, {"INFO", "keyspace"}), "# Keyspace\r\n");
  EXPECT_EQ(redis_command(after, {"FUNCTION", "LIST"}), "");
  EXPECT_EQ(redis_command(after, {"INFO", "commandstats"}).find("cmdstat_set:"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(after.directory() / "file"));
  EXPECT_FALSE(left.command({"PING"}));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(again.connect()) << "whoever is left behind does not come back";
  EXPECT_TRUE(Redis(*parse_redis_url(after.url()), Milliseconds(5000)).command({"GET", "key"})) << "users are there";
}

TEST(SharedRedis, IsAnotherWhenATestHasChangedIt) {
  const std::pair<const char*, std::function<void(RedisServer&)>> changes[]{
      {"killed", [](RedisServer& server) { server.kill(); }},
      {"started again",
       [](RedisServer& server) {
         server.kill();
         server.start();
       }},
      {"configured",
       [](RedisServer& server) {
         redis_command(server, {"CONFIG", "SET", "maxmemory", "1000000000"});
       }},
      {"another right",
       [](RedisServer& server) {
         redis_command(server, {"ACL", "SETUSER", "feedmill", "-set"});
       }},
      {"another password",
       [](RedisServer& server) {
         redis_command(server, {"ACL", "SETUSER", "feedmill", ">x"});
       }},
  };
  for (const auto& [name, change] : changes) {
    std::optional<RedisServer> before(std::in_place);
    change(*before);
    const pid_t pid = before->pid();
    before.reset();
    const RedisServer after;
    EXPECT_NE(after.pid(), pid) << name;
    EXPECT_EQ(redis_command(after, {"CONFIG", "GET", "maxmemory"}), "maxmemory 0") << name;
    Redis worker(*parse_redis_url(after.url()), Milliseconds(5000));
    EXPECT_TRUE(worker.command({"SET", "key", "value"})) << name;
  }
}

TEST(SharedRedis, IsNotSharedByTwoAtOnce) {
  const RedisServer one, two;
  EXPECT_NE(one.pid(), two.pid());
  EXPECT_EQ(redis_command(one, {"SET", "key", "value"}), "OK");
  EXPECT_EQ(redis_command(two, {"GET", "key"}), "(nil)");
}

TEST(SharedRedis, IsNotOneThatHasArguments) {
  std::optional<RedisServer> plain(std::in_place);
  const pid_t pid = plain->pid();
  plain.reset();
  const RedisServer with({"--appendonly", "yes"});
  EXPECT_NE(with.pid(), pid);
}

}  // namespace
}  // namespace feedmill::test::redis_server_test
