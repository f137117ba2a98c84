// Real servers and real processes: what survives kill -9 of either side (RELIABILITY R5, R8).
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/temporary_directory.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill::embedded_redis_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using testing::HasSubstr;

class EmbeddedRedisTest : public testing::Test {
 protected:
  EmbeddedRedisTest() {
    options.data_dir = home / "data";
    options.runtime_dir = home / "run";
  }

  std::unique_ptr<EmbeddedRedis> open() {
    auto opened = EmbeddedRedis::open(options);
    if (!opened) {
      ADD_FAILURE() << opened.error().detail;
      return nullptr;
    }
    return std::move(*opened);
  }
  EmbeddedError open_refused() {
    auto opened = EmbeddedRedis::open(options);
    if (opened) {
      ADD_FAILURE() << "opened all the same";
      return {};
    }
    return opened.error();
  }

  /// The server's answer to an inline command.
  static std::string ask(const EmbeddedRedis& server, const std::string& command) {
    asio::io_context io;
    asio::local::stream_protocol::socket socket(io);
    socket.connect(asio::local::stream_protocol::endpoint(server.url().substr(std::string("unix://").size())));
    asio::write(socket, asio::buffer(command + "\r\n"));
    asio::streambuf buffer;
    asio::read_until(socket, buffer, "\r\n");
    std::istream in(&buffer);
    std::string line;
    std::getline(in, line);
    if (line.starts_with("$") && line != "$-1\r") {
      const auto size = std::stoul(line.substr(1));
      if (buffer.size() < size + 2) asio::read(socket, buffer, asio::transfer_exactly(size + 2 - buffer.size()));
      line.resize(size);
      in.read(line.data(), static_cast<std::streamsize>(size));
    }
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  /// With everysec the server answers before it has written if an fsync is in progress; a SIGKILL then loses the
  /// answered write.
  static void await_written(const EmbeddedRedis& server) {
    while (ask(server, "INFO persistence").find("aof_buffer_length:0\r") == std::string::npos)
      std::this_thread::sleep_for(1ms);
  }

  /// Runs `work` in a child process and kills that with SIGKILL, without any clean-up.
  template <class Work>
  static void in_killed_process(Work work) {
    const pid_t pid = fork();
    if (pid == 0) {
      work();
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }

  /// Kills a server and waits until it can no longer be mistaken for a running one.
  static void kill_server(int pid) {
    kill(pid, SIGKILL);
    await_end(pid);
  }
  static void await_end(int pid) {
    waitpid(pid, nullptr, 0);                             // returns at once if it is not our child
    while (alive(pid)) std::this_thread::sleep_for(1ms);  // init's child: nothing to wait on
  }
  static bool alive(int pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    return !text.empty() && text.substr(text.rfind(')') + 2, 1) != "Z";
  }

  test::TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
  EmbeddedRedis::Options options;
};

TEST_F(EmbeddedRedisTest, StartsAPrivateServerAndStopsIt) {
  auto server = open();
  ASSERT_TRUE(server);
  EXPECT_FALSE(server->adopted());
  EXPECT_EQ(server->state(), EmbeddedRedis::State::ready);
  EXPECT_EQ(ask(*server, "SET a b"), "+OK");
  EXPECT_THAT(server->server(), testing::MatchesRegex("(redis|valkey) [0-9.]+"));
  struct stat status {};
  stat(server->url().substr(7).c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  stat(options.data_dir.c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const int pid = server->pid();
  EXPECT_EQ(getsid(pid), pid);  // Ctrl-C in our terminal does not reach it
  server.reset();
  EXPECT_FALSE(alive(pid));
  EXPECT_TRUE(fs::is_empty(options.runtime_dir));
}

TEST_F(EmbeddedRedisTest, IsConfiguredForDurability) {
  options.max_memory = 64 << 20;
  const auto server = open();
  ASSERT_TRUE(server);
  std::ifstream file(fs::path(server->url().substr(7)).replace_extension(".conf"));
  std::stringstream text;
  text << file.rdbuf();
  for (const char* line :
       {"port 0\n", "unixsocketperm 700\n", "appendonly yes\n", "appendfsync everysec\n", "save \"\"\n",
        "maxmemory-policy noeviction\n", "daemonize no\n", "protected-mode yes\n", "enable-debug-command no\n",
        "enable-module-command no\n", "aof-load-truncated yes\n", "maxmemory 67108864\n"})
    EXPECT_THAT(text.str(), HasSubstr(line));
}

TEST_F(EmbeddedRedisTest, KeepsItsDataAndItsFilesToItself) {
  ASSERT_EQ(ask(*open(), "SET a b"), "+OK");
  EXPECT_EQ(ask(*open(), "GET a"), "b");
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(options.data_dir)) names.push_back(file.path().filename().string());
  EXPECT_THAT(names, testing::UnorderedElementsAre("server.json", "server.lock", "users.lock", "start.lock",
                                                   "appendonlydir"));  // RELIABILITY R3; the pid file is gone
}

/// SECURITY A5.
TEST_F(EmbeddedRedisTest, KeepsItsFilesPrivateInADirectoryOpenToAll) {
  fs::create_directories(options.data_dir);
  fs::permissions(options.data_dir, fs::perms(0755));
  const mode_t before = ::umask(022);
  {
    const auto server = open();
    ASSERT_TRUE(server);
    EXPECT_THAT(server->warning(), HasSubstr("chmod 700"));
    EXPECT_EQ(ask(*server, "SET a b"), "+OK");
    EXPECT_EQ(ask(*server, "BGREWRITEAOF").substr(0, 1), "+");
  }
  EXPECT_EQ(::umask(before), 022U) << "ours is as it was";
  int files = 0;
  for (const auto& file : fs::recursive_directory_iterator(options.data_dir)) {
    if (!file.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(file.status().permissions() & fs::perms(077), fs::perms::none) << file.path();
  }
  EXPECT_GT(files, 4);
  fs::permissions(options.data_dir, fs::perms(0700));
  EXPECT_EQ(open()->warning(), "");
}

TEST_F(EmbeddedRedisTest, ClosesFilesThatOthersCouldRead) {
  ASSERT_EQ(ask(*open(), "SET a b"), "+OK");
  const fs::path foreign = home / "foreign", link = options.data_dir / "appendonlydir/link.aof";
  std::ofstream(foreign) << "x";
  fs::permissions(foreign, fs::perms(0644));
  fs::create_symlink(foreign, link);
  std::vector<fs::path> opened;
  for (const auto& file : fs::directory_iterator(options.data_dir / "appendonlydir")) {
    if (file.is_symlink()) continue;
    fs::permissions(file, fs::perms(0644));
    opened.push_back(file.path());
  }
  ASSERT_GE(opened.size(), 2U);
  const auto server = open();
  EXPECT_EQ(ask(*server, "GET a"), "b");
  for (const fs::path& file : opened) EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600)) << file;
  EXPECT_EQ(fs::status(foreign).permissions(), fs::perms(0644));
}

TEST_F(EmbeddedRedisTest, SharesOneServerAndTheLastOneStopsIt) {
  auto first = open();
  auto second = open();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(second->adopted());
  EXPECT_EQ(first->pid(), second->pid());
  EXPECT_EQ(first->url(), second->url());
  const int pid = first->pid();
  first.reset();
  EXPECT_EQ(ask(*second, "PING"), "+PONG");
  second.reset();
  EXPECT_FALSE(alive(pid));
}

TEST_F(EmbeddedRedisTest, FindsTheServerFromAnotherEnvironment) {
  const auto first = open();
  options.runtime_dir = home / "other";
  const auto second = open();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->url(), second->url());
}

TEST_F(EmbeddedRedisTest, AdoptsTheServerOfAKilledWorker) {
  in_killed_process([&] { ask(*EmbeddedRedis::open(options).value(), "SET a b"); });
  // ~EmbeddedRedis ran above for the temporary; this one is killed while it holds the server:
  in_killed_process([&] {
    auto server = EmbeddedRedis::open(options).value();
    ask(*server, "SET c d");
    kill(getpid(), SIGKILL);
  });
  auto server = open();
  ASSERT_TRUE(server);
  EXPECT_TRUE(server->adopted());
  EXPECT_EQ(ask(*server, "GET a"), "b");
  EXPECT_EQ(ask(*server, "GET c"), "d");
  const int pid = server->pid();
  server.reset();
  await_end(pid);
}

TEST_F(EmbeddedRedisTest, AdoptsAServerIfItsStarterDiedBeforeWritingTheRunId) {
  in_killed_process([&] {
    auto server = EmbeddedRedis::open(options).value();
    kill(getpid(), SIGKILL);
  });
  std::stringstream text;
  text << std::ifstream(options.data_dir / "server.json").rdbuf();
  std::string json = text.str();
  const auto id = json.find("\"run_id\":\"") + 10;
  json.replace(id, json.find('"', id) - id, "");
  std::ofstream(options.data_dir / "server.json") << json;
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_TRUE(server->adopted());
}

TEST_F(EmbeddedRedisTest, LosesNothingHoweverItIsKilled) {
  int count = 0;
  for (int round = 0; round < 20; ++round) {
    in_killed_process([&] {
      auto server = EmbeddedRedis::open(options).value();
      ask(*server, "INCR count");
      await_written(*server);
      if (round % 3 == 0) kill(server->pid(), SIGKILL);  // both die at once
      kill(getpid(), SIGKILL);
    });
    ++count;
    if (round % 3 == 1) {  // the server dies alone, later
      const auto server = open();
      ASSERT_TRUE(server);
      kill_server(server->pid());
    }
  }
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(*server, "GET count"), std::to_string(count));
}

TEST_F(EmbeddedRedisTest, StartsOneServerForManyThatOpenAtOnce) {
  constexpr int openers = 4;
  for (int round = 0; round < 5; ++round) {
    int report[2], go[2], leave[2];
    ASSERT_EQ(pipe(report) + pipe(go) + pipe(leave), 0);
    std::vector<pid_t> processes;
    for (int i = 0; i < openers; ++i) {
      processes.push_back(fork());
      if (processes.back() != 0) continue;
      close(go[1]);
      close(leave[1]);
      char end;
      [[maybe_unused]] auto ready = ::read(go[0], &end, 1);  // returns when the parent closes its end
      auto server = EmbeddedRedis::open(options);
      const int pid = server ? (*server)->pid() : 0;
      [[maybe_unused]] auto told = write(report[1], &pid, sizeof pid);
      [[maybe_unused]] auto left = ::read(leave[0], &end, 1);
      if (server) server->reset();
      _exit(0);
    }
    close(go[0]);
    close(go[1]);
    std::vector<int> pids(openers);
    for (int& pid : pids) ASSERT_EQ(::read(report[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    EXPECT_THAT(pids, testing::Each(testing::AllOf(testing::Gt(0), testing::Eq(pids[0]))));
    close(leave[0]);
    close(leave[1]);
    for (const pid_t process : processes) waitpid(process, nullptr, 0);
    EXPECT_FALSE(alive(pids[0]));
    close(report[0]);
    close(report[1]);
  }
}

TEST_F(EmbeddedRedisTest, CopesWithALongPath) {
  options.data_dir = home / std::string(200, 'd');
  options.runtime_dir = home / std::string(120, 'r');
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_LT(server->url().size(), 107u);
  EXPECT_EQ(ask(*server, "PING"), "+PONG");
}

TEST_F(EmbeddedRedisTest, MakesADirectoryOfItsOwnWhereOthersMayWrite) {
  fs::create_directories(options.runtime_dir);
  fs::permissions(options.runtime_dir, fs::perms::all);  // like a container volume
  const auto server = open();
  ASSERT_TRUE(server);
  const fs::path directory = fs::path(server->url().substr(7)).parent_path();
  EXPECT_EQ(directory.parent_path(), options.runtime_dir);
  EXPECT_EQ(fs::status(directory).permissions(), fs::perms::owner_all);
}

TEST_F(EmbeddedRedisTest, CopesWithOddCharactersInPaths) {
  options.data_dir = home / "a \"b\\\tc'\n{d}";
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_TRUE(fs::exists(options.data_dir / "appendonlydir"));
}

TEST_F(EmbeddedRedisTest, RunsTheCheckToolUnderTheServersName) {
  fs::create_directories(home / "bin");
  for (const char* directory : {"/usr/bin", "/usr/local/bin"}) {
    for (const char* tool : {"redis-check-rdb", "valkey-check-rdb"}) {
      if (fs::exists(fs::path(directory) / tool) && !fs::exists(home / "bin" / tool))
        fs::create_symlink(fs::canonical(fs::path(directory) / tool), home / "bin" / tool);
    }
  }
  options.search_path = (home / "bin").string();
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(*server, "PING"), "+PONG");
}

TEST_F(EmbeddedRedisTest, NamesThePackagesWhenThereIsNoServer) {
  options.search_path = home.string();
  const auto error = open_refused();
  EXPECT_EQ(error.code, EmbeddedError::Code::no_program);
  EXPECT_EQ(exit_code(error.code), 69);
  EXPECT_THAT(error.detail,
              testing::AllOf(HasSubstr("valkey-server"), HasSubstr("redis-server"), HasSubstr("--redis")));
}

/// A program that prints `version` and does nothing else.
void fake_server(const fs::path& path, const std::string& version) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\necho '" << version << " sha=0'\n";
  fs::permissions(path, fs::perms::owner_all);
}

TEST_F(EmbeddedRedisTest, RefusesAServerThatIsTooOld) {
  fake_server(home / "bin/redis-server", "Redis server v=6.2.14");
  options.search_path = (home / "bin").string();
  const auto error = open_refused();
  EXPECT_EQ(error.code, EmbeddedError::Code::version);
  EXPECT_THAT(error.detail, HasSubstr("7.0 or later"));
}

TEST_F(EmbeddedRedisTest, DoesNotWaitForAProgramThatPrintsNoVersion) {
  fs::create_directories(home / "bin");
  std::ofstream(home / "bin/redis-server") << "#!/bin/sh\nexec /bin/sleep 1000\n";
  fs::permissions(home / "bin/redis-server", fs::perms::owner_all);
  options.search_path = (home / "bin").string();
  EXPECT_EQ(open_refused().code, EmbeddedError::Code::no_program);
}

struct VersionCase {
  const char* name;
  const char* writer;  // version in server.json
  const char* reader;  // the installed version
  bool readable;
};
class Versions : public EmbeddedRedisTest, public testing::WithParamInterface<VersionCase> {};
TEST_P(Versions, ReadFilesOfCompatibleVersions) {
  const std::string writer = GetParam().writer;
  const auto space = writer.find(' ');
  fs::create_directories(options.data_dir);
  std::ofstream(options.data_dir / "server.json")
      << R"({"name":")" << writer.substr(0, space) << R"(","version":")" << writer.substr(space + 1) << "\"}";
  fake_server(home / "bin/redis-server", GetParam().reader);
  options.search_path = (home / "bin").string();
  // The fake server exits at once, so a readable version gets as far as starting it.
  EXPECT_EQ(open_refused().code,
            GetParam().readable ? EmbeddedError::Code::start_failed : EmbeddedError::Code::version);
}
INSTANTIATE_TEST_SUITE_P(All, Versions,
                         testing::Values(VersionCase{"Same", "redis 7.0.15", "Redis server v=7.0.15", true},
                                         VersionCase{"Patch", "redis 7.0.15", "Redis server v=7.0.9", true},
                                         VersionCase{"Newer", "redis 7.0.15", "Redis server v=8.0.2", true},
                                         VersionCase{"Older", "redis 7.2.4", "Redis server v=7.0.15", false},
                                         VersionCase{"ToValkey", "redis 7.2.4", "Valkey server v=8.1.1", true},
                                         VersionCase{"NewToValkey", "redis 7.4.0", "Valkey server v=8.1.1", false},
                                         VersionCase{"FromValkey", "valkey 8.1.1", "Redis server v=7.2.4", true},
                                         VersionCase{"FromValkeyToOld", "valkey 8.1.1", "Redis server v=7.0.15", false},
                                         VersionCase{"FromNewValkey", "valkey 9.0.0", "Redis server v=8.0.2", false}),
                         [](const auto& test) { return test.param.name; });

TEST_F(EmbeddedRedisTest, RefusesADirectoryItCannotUse) {
  std::ofstream(home / "file") << "x";
  options.data_dir = home / "file/data";
  const auto error = open_refused();
  EXPECT_EQ(error.code, EmbeddedError::Code::directory);
  EXPECT_EQ(exit_code(error.code), 73);
  EXPECT_THAT(error.detail, HasSubstr("--data-dir"));
}

TEST_F(EmbeddedRedisTest, RejectsADirectoryInUse) {
  fs::create_directories(options.data_dir);
  const UniqueFd lock(::open((options.data_dir / "server.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  options.patience = 50ms;
  const auto error = open_refused();
  EXPECT_EQ(error.code, EmbeddedError::Code::occupied);
  EXPECT_THAT(error.detail, HasSubstr("nothing answers"));
}

TEST_F(EmbeddedRedisTest, LeavesTheDirectoryOfAnotherUserAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  { ASSERT_TRUE(open()); }
  ASSERT_EQ(::chown((options.data_dir / "server.lock").c_str(), 12345, 12345), 0);
  const auto error = open_refused();
  EXPECT_EQ(exit_code(error.code), 69);
  EXPECT_THAT(error.detail, HasSubstr("another user (12345)"));
  EXPECT_FALSE(fs::exists(options.data_dir / "redis.pid"));
}

TEST_F(EmbeddedRedisTest, MakesNothingInAnEmptyDirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directories(options.data_dir);
  ASSERT_EQ(::chown(options.data_dir.c_str(), 12345, 12345), 0);
  const auto error = open_refused();
  EXPECT_EQ(exit_code(error.code), 69);
  EXPECT_THAT(error.detail, HasSubstr("another user (12345)"));
  EXPECT_TRUE(fs::is_empty(options.data_dir));
}

TEST_F(EmbeddedRedisTest, NeverWritesThroughSymbolicLinks) {
  fs::create_directories(options.data_dir);
  const fs::path foreign = options.data_dir.parent_path() / "foreign";
  std::ofstream(foreign) << "precious";
  fs::create_symlink(foreign, options.data_dir / "server.json.new");
  ASSERT_TRUE(open());
  std::string kept;
  std::getline(std::ifstream(foreign), kept);
  EXPECT_EQ(kept, "precious");
}

TEST_F(EmbeddedRedisTest, SharesAServerThatCannotWriteItsFile) {
  const auto server = open();
  ASSERT_TRUE(server);
  fs::create_directory(options.data_dir / "dump.rdb");  // in the place of the snapshot
  ASSERT_EQ(ask(*server, "CONFIG SET save \"3600 1\""), "+OK");
  ASSERT_THAT(ask(*server, "BGSAVE"), HasSubstr("started"));
  while (ask(*server, "INFO persistence").find("rdb_last_bgsave_status:err") == std::string::npos)
    std::this_thread::sleep_for(1ms);
  ASSERT_THAT(ask(*server, "PING"), HasSubstr("MISCONF"));
  EXPECT_TRUE(open());
}

TEST_F(EmbeddedRedisTest, RefusesAServerOfAnotherRun) {
  const auto server = open();
  ASSERT_TRUE(server);
  std::stringstream text;
  text << std::ifstream(options.data_dir / "server.json").rdbuf();
  const std::string json = text.str();
  std::string other = json;
  const auto id = other.find("\"run_id\":\"") + 10;
  other.replace(id, 4, "0000");
  std::ofstream(options.data_dir / "server.json") << other;
  options.patience = 50ms;
  EXPECT_THAT(open_refused().detail, HasSubstr("another run"));
  EXPECT_EQ(ask(*server, "PING"), "+PONG");
}

TEST_F(EmbeddedRedisTest, RefusesDataThatIsNotItsOwn) {
  const auto server = open();
  ASSERT_TRUE(server);
  ASSERT_EQ(ask(*server, "SET meta:embedded other"), "+OK");
  EXPECT_THAT(open_refused().detail, HasSubstr("does not belong"));
  EXPECT_EQ(ask(*server, "PING"), "+PONG");
}

TEST_F(EmbeddedRedisTest, RepairsNothingByItself) {
  { ASSERT_EQ(ask(*open(), "SET a b"), "+OK"); }
  for (const auto& file : fs::directory_iterator(options.data_dir / "appendonlydir")) {
    if (file.path().string().ends_with(".incr.aof")) {
      std::fstream aof(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      aof.seekp(4);
      aof << "#garbage#";
    }
  }
  const auto error = open_refused();
  EXPECT_EQ(error.code, EmbeddedError::Code::damaged) << error.detail;
  EXPECT_THAT(error.detail, testing::AllOf(HasSubstr("-check-aof --fix"), HasSubstr(".backup")));
}

TEST_F(EmbeddedRedisTest, ForgivesATornTail) {
  { ASSERT_EQ(ask(*open(), "SET a b"), "+OK"); }
  for (const auto& file : fs::directory_iterator(options.data_dir / "appendonlydir"))
    if (file.path().string().ends_with(".incr.aof")) std::ofstream(file.path(), std::ios::app) << "*3\r\n$3\r\nSE";
  EXPECT_EQ(ask(*open(), "GET a"), "b");
}

/// Supervises until `seen` returns true; the loop runs in this thread.
template <class Seen>
void supervise(EmbeddedRedis& server, Seen seen) {
  BlockingCalls calls;
  asio::io_context io;
  asio::cancellation_signal stop;
  bool stopped = false;
  const auto tell = [&](const EmbeddedEvent& event) {
    if (!stopped && seen(event)) {
      stopped = true;
      asio::post(io, [&] { stop.emit(asio::cancellation_type::terminal); });
    }
  };
  asio::co_spawn(io, server.supervise(calls, tell), asio::bind_cancellation_slot(stop.slot(), asio::detached));
  io.run_for(60s);
  EXPECT_TRUE(stopped);
}

TEST_F(EmbeddedRedisTest, RestartsAServerThatDied) {
  options.restart_delay = 1ms;
  const auto server = open();
  ASSERT_TRUE(server);
  const std::string url = server->url();
  ask(*server, "SET a b");
  await_written(*server);
  const int pid = server->pid();
  kill(pid, SIGKILL);
  std::vector<EmbeddedEvent::Kind> seen;
  supervise(*server, [&](const EmbeddedEvent& event) {
    if (event.kind != EmbeddedEvent::Kind::log_line) seen.push_back(event.kind);
    return event.kind == EmbeddedEvent::Kind::restarted;
  });
  EXPECT_THAT(seen, testing::ElementsAre(EmbeddedEvent::Kind::crashed, EmbeddedEvent::Kind::restarted));
  EXPECT_NE(server->pid(), pid);
  EXPECT_EQ(server->url(), url);
  EXPECT_EQ(ask(*server, "GET a"), "b");
}

TEST_F(EmbeddedRedisTest, GivesUpOnAServerThatDoesNotStayUp) {
  options.restart_delay = 1ms;
  const auto server = open();
  ASSERT_TRUE(server);
  int crashes = 0;
  kill(server->pid(), SIGKILL);
  supervise(*server, [&](const EmbeddedEvent& event) {
    crashes += event.kind == EmbeddedEvent::Kind::crashed;
    if (event.kind == EmbeddedEvent::Kind::restarted) kill(server->pid(), SIGKILL);
    return event.kind == EmbeddedEvent::Kind::gave_up;
  });
  EXPECT_EQ(crashes, 5);
  EXPECT_EQ(server->state(), EmbeddedRedis::State::failed);
}

TEST_F(EmbeddedRedisTest, ForwardsTheServersLog) {
  const auto server = open();
  ASSERT_TRUE(server);
  std::vector<std::string> told;  // lines shown to operators
  supervise(*server, [&](const EmbeddedEvent& event) {
    if (event.kind == EmbeddedEvent::Kind::log_line && event.level != LogLevel::debug) told.push_back(event.detail);
    return event.kind == EmbeddedEvent::Kind::log_line && event.detail.find("eady to accept") != std::string::npos;
  });
  for (const std::string& line : told) EXPECT_THAT(line, HasSubstr("WARNING"));  // only warnings on kernel settings
}

TEST_F(EmbeddedRedisTest, WaitsWhileALargeFileLoads) {
  constexpr int keys = 200'000;
  {
    const auto server = open();
    ASSERT_TRUE(server);
    asio::io_context io;
    asio::local::stream_protocol::socket socket(io);
    socket.connect(asio::local::stream_protocol::endpoint(server->url().substr(7)));
    std::string commands;
    for (int i = 0; i < keys; ++i)
      commands += "SADD set:" + std::to_string(i % 1000) + " " + std::to_string(i) + "\r\n";
    std::thread writer([&] { asio::write(socket, asio::buffer(commands)); });
    std::string replies(std::size_t{keys} * 4, '\0');
    asio::read(socket, asio::buffer(replies));  // ":1\r\n" each
    writer.join();
  }
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_EQ(server->state(), EmbeddedRedis::State::ready);
  EXPECT_EQ(ask(*server, "SCARD set:999"), ":200");
}

TEST_F(EmbeddedRedisTest, WaitsForALoadInTheBackground) {
  { ASSERT_EQ(ask(*open(), "SET a b"), "+OK"); }
  options.wait_until_loaded = false;
  const auto server = open();
  ASSERT_TRUE(server);
  EXPECT_EQ(server->state(), EmbeddedRedis::State::loading);

  supervise(*server, [&](const EmbeddedEvent& event) {
    return event.kind == EmbeddedEvent::Kind::log_line && event.detail.find("eady to accept") != std::string::npos;
  });
  EXPECT_EQ(server->state(), EmbeddedRedis::State::ready);
}

TEST_F(EmbeddedRedisTest, LeavesNoDescriptorOfOursWithTheServer) {
  const UniqueFd leak(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC, as Asio's sockets are
  const auto server = open();
  ASSERT_TRUE(server);
  bool holds_lock = false;
  for (const auto& link : fs::directory_iterator("/proc/" + std::to_string(server->pid()) + "/fd")) {
    std::error_code gone;
    const fs::path target = fs::read_symlink(link.path(), gone);
    holds_lock |= target.filename() == "server.lock";
    EXPECT_NE(target.filename(), "users.lock");
    EXPECT_NE(target.filename(), "start.lock");
    EXPECT_TRUE(target != "/dev/null" || link.path().filename() == "0") << link.path();
  }
  EXPECT_TRUE(holds_lock);
}

/// SECURITY K4.
TEST_F(EmbeddedRedisTest, GivesTheServerNoSecretOfOurEnvironment) {
  fs::create_directories(home / "bin");
  std::ofstream(home / "bin/redis-server")
      << "#!/bin/sh\nenv >>" << (home / "environment").string()
      << "\nexec \"$(command -v redis-server || command -v valkey-server)\" \"$@\"\n";
  fs::permissions(home / "bin/redis-server", fs::perms::owner_all);
  options.search_path = (home / "bin").string();
  ASSERT_EQ(::setenv("FEEDMILL_API_TOKEN_READER", "swordfish-of-reader", 1), 0);
  EXPECT_TRUE(open());
  ::unsetenv("FEEDMILL_API_TOKEN_READER");
  std::ifstream file(home / "environment");
  const std::string environment((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(environment, HasSubstr("PATH="));
  EXPECT_THAT(environment, testing::Not(HasSubstr("swordfish")));
}

}  // namespace
}  // namespace feedmill::embedded_redis_test
