// A worker stopped before it is ready (RELIABILITY D1) ends as after a drain, whatever it is waiting for.
#include <fstream>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/end_to_end/own_server_world.hpp"
#include "tests/support/service_manager.hpp"

namespace feedmill::test::early_stop_test {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;

constexpr const char* slow_load = "--key-load-delay 50000 --loading-process-events-interval-bytes 1024";

/// Fills the server with 4,000 keys, which take minutes to load, and kills it.
void fill(RedisServer& server) {
  redis_command(server, {"EVAL", "for i = 1, 4000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end", "0"});
  redis_command(server, {"BGREWRITEAOF"});
  ASSERT_TRUE(eventually([&] {
    const std::string info = redis_command(server, {"INFO", "persistence"});
    return info.find("aof_rewrite_in_progress:0") != std::string::npos &&
           info.find("aof_rewrite_scheduled:0") != std::string::npos;
  }));
  server.kill();
}

class EarlyStop : public testing::TestWithParam<int> {
 protected:
  World world;
};

TEST_P(EarlyStop, WhileRedisIsAway) {
  world.environment["FEEDMILL_REDIS_URL"] = "unix://" + (world.redis.directory() / "nobody.sock").string();
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("waiting for Redis") != std::string::npos; }));
  worker.signal(GetParam());
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_NE(done.err.find("event=drain"), std::string::npos) << done.err;
}

/// Redis accepts the connection and never replies; waiting for a reply would take ten minutes.
TEST_P(EarlyStop, WhileRedisNeverAnswers) {
  const std::string path = (world.redis.directory() / "silent.sock").string();
  asio::io_context loop;
  stream_protocol::acceptor silent(loop, stream_protocol::endpoint(path));
  world.environment["FEEDMILL_REDIS_URL"] = "unix://" + path;
  world.environment["FEEDMILL_REDIS_TIMEOUT"] = "10min";
  for (const std::vector<std::string>& run : std::vector<std::vector<std::string>>{{"run"}, {"run", "--once"}}) {
    Program worker(run, world.environment);
    const stream_protocol::socket connected = silent.accept();
    worker.signal(GetParam());
    const Finished done = worker.wait();
    EXPECT_EQ(done.exit, 0) << done.err;
    EXPECT_NE(done.err.find("nothing is claimed"), std::string::npos) << done.err;
  }
}

TEST_P(EarlyStop, WhileRedisLoadsItsData) {
  RedisServer loading({"--appendonly", "yes"});
  fill(loading);
  loading.start_loading({"--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024"});
  world.environment["FEEDMILL_REDIS_URL"] = loading.admin_url();
  Program worker({"run"}, world.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("LOADING") != std::string::npos; })) << worker.err();
  worker.signal(GetParam());
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_P(EarlyStop, WhileItWaitsForItsConfiguration) {
  const std::filesystem::path pipe = world.redis.directory() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Program worker({"run", "--config", pipe.string()}, world.environment);
  UniqueFd writer;  // opens once the pipe has a reader
  ASSERT_TRUE(eventually([&] {
    writer = UniqueFd(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return static_cast<bool>(writer);
  }));
  worker.signal(GetParam());
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.err, "");
}

INSTANTIATE_TEST_SUITE_P(Signals, EarlyStop, testing::Values(SIGTERM, SIGINT),
                         [](const auto& test) { return test.param == SIGTERM ? "Terminate" : "Interrupt"; });

/// A private server that needs minutes to load is stopped, not waited for.
TEST(EarlyStopOwnServer, WhileItLoadsItsData) {
  OwnServerWorld it;
  std::filesystem::create_directories(it.home / "bin");
  const auto program = it.home / "bin" / "valkey-server";  // the first name looked up
  {
    RedisServer filled({"--appendonly", "yes"});
    fill(filled);
    std::filesystem::create_directories(it.data());
    std::filesystem::copy(filled.directory() / "appendonlydir", it.data() / "appendonlydir");
  }
  std::ofstream(program) << "#!/bin/sh\nexec redis-server \"$@\" " << slow_load << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  it.environment["PATH"] = program.parent_path().string() + ":" + it.environment["PATH"];
  Program worker({"run"}, it.environment);
  ASSERT_TRUE(eventually([&] { return worker.err().find("LOADING") != std::string::npos; })) << worker.err();
  worker.signal(SIGTERM);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(it.left_behind(), "");
}

/// Another process holding the start lock does not delay the stop.
TEST(EarlyStopOwnServer, WhileAnotherProcessStartsIt) {
  OwnServerWorld it;
  std::filesystem::create_directories(it.data());
  const UniqueFd lock(::open((it.data() / "start.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const std::string name = "@feedmill-early-" + std::to_string(getpid());
  ServiceManager manager(name);
  it.environment["NOTIFY_SOCKET"] = name;
  Program worker({"run"}, it.environment);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(it.data() / "users.lock"); }));
  worker.signal(SIGTERM);
  const Finished done = worker.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_NE(done.err.find("told to stop before"), std::string::npos) << done.err;
  const std::string heard = manager.heard();
  EXPECT_NE(heard.find("STOPPING=1"), std::string::npos) << heard;
}

}  // namespace
}  // namespace feedmill::test::early_stop_test
