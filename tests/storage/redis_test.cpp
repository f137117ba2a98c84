#include "storage/redis/redis.hpp"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

namespace feedmill::redis_test {
namespace {

struct UrlCase {
  const char* name;
  const char* url;
  const char* host;
  int port;
  const char* socket;
  const char* user;
  const char* password;
  int database;
};

class RedisUrls : public testing::TestWithParam<UrlCase> {};

TEST_P(RedisUrls, AreRead) {
  const UrlCase& expected = GetParam();
  const auto address = parse_redis_url(expected.url);
  ASSERT_TRUE(address) << address.error().detail;
  EXPECT_EQ(address->host, expected.host);
  EXPECT_EQ(address->port, expected.port);
  EXPECT_EQ(address->socket, expected.socket);
  EXPECT_EQ(address->user, expected.user);
  EXPECT_EQ(address->password, expected.password);
  EXPECT_EQ(address->database, expected.database);
}

INSTANTIATE_TEST_SUITE_P(All, RedisUrls,
                         testing::Values(UrlCase{"Host", "redis://example.org", "example.org", 6379, "", "", "", 0},
                                         UrlCase{"Default", "redis://", "127.0.0.1", 6379, "", "", "", 0},
                                         UrlCase{"PortAndDatabase", "redis://h:7000/3", "h", 7000, "", "", "", 3},
                                         UrlCase{"Password", "redis://:s3cret@h", "h", 6379, "", "", "s3cret", 0},
                                         UrlCase{"UserAndEscapes", "redis://me:p%40ss%2F@h:1/0", "h", 1, "", "me",
                                                 "p@ss/", 0},
                                         UrlCase{"Ipv6", "redis://[::1]:6380/1", "::1", 6380, "", "", "", 1},
                                         UrlCase{"Unix", "unix:///run/r.sock?db=2", "", 6379, "/run/r.sock", "", "", 2},
                                         UrlCase{"UnixShort", "unix:/run/r.sock", "", 6379, "/run/r.sock", "", "", 0}),
                         [](const auto& test) { return test.param.name; });

class BadRedisUrls : public testing::TestWithParam<const char*> {};

TEST_P(BadRedisUrls, AreRefusedWithoutTellingThePassword) {
  const auto address = parse_redis_url(GetParam());
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, StoreError::Code::unsupported);
  EXPECT_EQ(address.error().detail.find("s3cret"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, BadRedisUrls,
                         testing::Values("", "localhost:6379", "http://h", "rediss://:s3cret@h/x", "redis://h:port",
                                         "redis://h:0", "redis://:s3cret@h/x", "unix:relative", "unix:///s?x=1",
                                         "redis://u:s3cret%zz@h"));

TEST(RedisErrors, MapToErrorCodes) {
  using Code = StoreError::Code;
  EXPECT_EQ(redis_error("LOADING Redis is loading the dataset in memory").code, Code::loading);
  EXPECT_EQ(redis_error("OOM command not allowed when used memory > 'maxmemory'.").code, Code::out_of_memory);
  EXPECT_EQ(redis_error("MISCONF Redis is configured to save").code, Code::misconfigured);
  EXPECT_EQ(redis_error("READONLY You can't write against a read only replica.").code, Code::read_only);
  EXPECT_EQ(redis_error("NOAUTH Authentication required.").code, Code::auth);
  EXPECT_EQ(redis_error("ERR something else").code, Code::bug);
}

TEST(RedisConnection, NamesTheServerThatIsNotThere) {
  Redis redis(*parse_redis_url("unix:/nowhere/at/all.sock"), Milliseconds(1000));
  const auto reply = redis.command({"PING"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, StoreError::Code::unavailable);
  EXPECT_NE(reply.error().detail.find("/nowhere/at/all.sock"), std::string::npos);
}

TEST(RedisConnection, PipelinesAndKeepsBytes) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(redis.connect());
  const std::string odd("a\0\r\n\xFF$-1", 8);
  redis.append({"SET", "k", odd});
  redis.append({"GET", "k"});
  redis.append({"GET", "nothing"});
  ASSERT_TRUE(redis.next());
  EXPECT_EQ(redis.next()->text(), odd);
  EXPECT_TRUE(redis.next()->is_nil());
}

TEST(RedisConnection, SendsValuesOfAllSizesInTheirOrder) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(redis.connect());
  std::vector<std::string> values;
  for (const std::size_t size : {0, 1, 9, 10, 4096, 4097, 65'536, 65'537, 3'000'000}) {
    std::string& value = values.emplace_back(size, '\0');
    for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<char>(i * 7 % 251);
  }
  // Together more than one write takes, and one command with more pieces than one write takes.
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < values.size(); ++i) keys.push_back("k" + std::to_string(i));
  for (std::size_t i = 0; i < values.size(); ++i) {
    redis.append({"SET", keys[i], values[i]});
    redis.append({"STRLEN", keys[i]});
  }
  Words list{"RPUSH", "list"};
  for (int i = 0; i < 100; ++i) list.insert(list.end(), {values[i % 2 == 0 ? 5 : 6], values[2]});
  redis.append(list);
  const Words tail{values[5], values[0]};
  redis.append({"RPUSH", "list"}, tail);
  for (const std::string& value : values) {
    ASSERT_TRUE(redis.next());
    EXPECT_EQ(redis.next()->integer(), static_cast<std::int64_t>(value.size()));
  }
  EXPECT_EQ(redis.next()->integer(), 200);
  EXPECT_EQ(redis.next()->integer(), 202);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(redis.command({"GET", keys[i]})->text() == values[i]) << values[i].size();
  }
  const auto stored = redis.command({"LRANGE", "list", "0", "-1"});
  ASSERT_EQ(stored->size(), 202U);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_TRUE((*stored)[i].text() == list[i + 2]) << i;
  EXPECT_TRUE((*stored)[200].text() == values[5] && (*stored)[201].text().empty());
}

TEST(RedisConnection, FailsAllThatWasAppendedWhenTheServerIsGone) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(redis.command({"PING"}));
  server.kill();
  const std::string large(100'000, 'x');
  for (int i = 0; i < 3; ++i) redis.append({"SET", "k", large});
  for (int i = 0; i < 3; ++i) {
    const auto lost = redis.next();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, StoreError::Code::unavailable);
    EXPECT_EQ(lost.error().detail, "lost the connection to Redis: Broken pipe");
  }
  EXPECT_FALSE(redis.connected());
  server.start();
  EXPECT_TRUE(redis.command({"GET", "k"})->is_nil()) << "nothing of it is sent later";
  EXPECT_EQ(redis.connections(), 2U);
}

TEST(RedisConnection, WaitsNoLongerForAServerThatReadsNothing) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(50));
  ASSERT_TRUE(redis.command({"PING"}));
  ::kill(server.pid(), SIGSTOP);
  const std::string larger_than_its_socket_takes(16U << 20U, 'x');
  const auto reply = redis.command({"SET", "k", larger_than_its_socket_takes});
  ::kill(server.pid(), SIGCONT);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, StoreError::Code::timeout);
  EXPECT_EQ(reply.error().detail, "no answer from Redis within 50 ms");
}

TEST(RedisConnection, ComesBackAfterTheServerDied) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(redis.command({"PING"}));
  server.kill();
  const auto lost = redis.command({"PING"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, StoreError::Code::unavailable);
  server.start();
  EXPECT_TRUE(redis.command({"PING"}));
}

TEST(RedisConnection, ClosedWhileIdleDoesNotFailTheNextCommand) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(5000));
  ASSERT_TRUE(redis.command({"PING"}));
  server.kill();
  server.start();
  redis.leave_closed();
  EXPECT_TRUE(redis.command({"PING"}));
  test::redis_command(server, {"CLIENT", "KILL", "TYPE", "normal"});
  redis.leave_closed();
  EXPECT_TRUE(redis.command({"PING"}));
  redis.leave_closed();
  EXPECT_TRUE(redis.connected());
  EXPECT_EQ(redis.connections(), 3U);
}

/// Interrupts the wait before or while it runs, but not later commands.
TEST(RedisConnection, WaitsNoLongerThanUntilItIsBrokenOff) {
  const test::RedisServer server;
  auto address = parse_redis_url(server.url());
  ASSERT_TRUE(address);
  Redis redis(*address, std::chrono::seconds(60)), other(*address, std::chrono::seconds(5));
  const auto waits = [&]() -> Redis::Result<Reply> {
    if (auto begun = redis.begin_wait({"BLPOP", "nothing", "50"}, std::chrono::seconds(50)); !begun)
      return begun.error();
    return redis.end_wait();
  };
  redis.break_wait();
  const auto before = waits();
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code, StoreError::Code::unavailable) << before.error().detail;

  const auto await_blocked = [&](std::string_view clients) {
    EXPECT_TRUE(test::eventually([&] {
      const auto info = other.command({"INFO", "clients"});
      return info && info_value(info->text(), "blocked_clients") == clients;
    }));
  };
  std::thread breaker([&] {
    await_blocked("1");
    redis.break_wait();
  });
  const auto broken = waits();
  breaker.join();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, StoreError::Code::unavailable) << broken.error().detail;

  await_blocked("0");  // otherwise the server would give the element to the client that is gone
  ASSERT_TRUE(other.command({"LPUSH", "nothing", "something"}));
  const auto whole = waits();
  ASSERT_TRUE(whole) << whole.error().detail;
  EXPECT_EQ((*whole)[1].text(), "something");
  redis.break_wait();
  EXPECT_TRUE(redis.command({"PING"})) << "it does not wait";
}

TEST(RedisConnection, ReportsAServerThatDoesNotAnswer) {
  test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(50));
  const auto reply = redis.command({"BLPOP", "empty", "0"});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, StoreError::Code::timeout);
  EXPECT_FALSE(redis.connected());
  const auto begun = redis.begin_wait({"BLPOP", "empty", "0"}, Milliseconds(20));
  ASSERT_TRUE(begun);
  EXPECT_GE(begun->socket, 0);
  const auto waited = redis.end_wait();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, StoreError::Code::timeout);
  EXPECT_FALSE(redis.connected());
  EXPECT_TRUE(redis.command({"PING"}));
}

TEST(RedisConnection, SaysWhichKeyIsOfAnotherType) {
  const test::RedisServer server;
  Redis redis(*parse_redis_url(server.admin_url()), Milliseconds(1000));
  ASSERT_TRUE(redis.command({"SET", "text", "x"}));
  const std::vector<Words> refused{{"LPUSH", "text", "y"},
                                   {"XGROUP", "CREATE", "text", "g", "0"},
                                   {"XREADGROUP", "GROUP", "g", "c", "STREAMS", "text", ">"}};
  for (const Words& words : refused) {
    const auto reply = redis.command(words);
    ASSERT_FALSE(reply);
    EXPECT_TRUE(reply.error().detail.ends_with(": text")) << reply.error().detail;
  }
}

TEST(RedisConnection, ReportsAWrongPassword) {
  test::RedisServer server({"--requirepass", "right"});
  RedisAddress address = *parse_redis_url(server.admin_url());
  Redis without(address, Milliseconds(1000));
  EXPECT_EQ(without.command({"GET", "k"}).error().code, StoreError::Code::auth);
  address.password = "wrong-one";
  const auto refused = Redis(address, Milliseconds(1000)).command({"GET", "k"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, StoreError::Code::auth);
  EXPECT_EQ(refused.error().detail.find("wrong-one"), std::string::npos);
  address.password = "right";
  EXPECT_TRUE(Redis(address, Milliseconds(1000)).command({"GET", "k"}));
}

}  // namespace
}  // namespace feedmill::redis_test
