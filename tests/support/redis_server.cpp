#include "tests/support/redis_server.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/wait.h>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "storage/lua/scripts.hpp"
#include "tests/support/eventually.hpp"

namespace feedmill::test {
namespace {

RedisAddress address_of(const RedisServer& server) {
  return *parse_redis_url(server.admin_url());
}

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "tests need redis-server: %s\n", what);
  std::abort();
}

std::filesystem::path new_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) give_up("no temporary directory");
  return pattern;
}

void stop(pid_t server) {
  ::kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
}

/// Arguments of redis-server for the users of the published file, each with its name as the password, so that they
/// exist before the first command. The default user stays unchanged, for tests to inspect the store directly.
std::vector<std::string> published_users() {
  std::vector<std::string> arguments;
  std::ifstream file(FEEDMILL_USERS_ACL);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string keyword, name;
    text >> keyword >> name;
    if (name == "default") continue;
    arguments.insert(arguments.end(), {"--user", name});
    for (std::string rule; text >> rule;) arguments.push_back(rule);
    arguments.push_back(">" + name);
  }
  if (arguments.empty()) give_up("no users in " FEEDMILL_USERS_ACL);
  return arguments;
}

void remove_with_all_in_it(const std::filesystem::path& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

/// Everything that a test may have changed, as Redis reports it; "" if it does not respond. A replica leaves a backlog,
/// and a save its status.
std::string settings_of(Redis& redis) {
  for (const Words& question : {Words{"CONFIG", "GET", "*"}, Words{"ACL", "LIST"}, Words{"INFO", "replication"},
                                Words{"INFO", "persistence"}}) {
    redis.append(question);
  }
  std::string all;
  const auto config = redis.next();
  if (config) {
    for (const auto& [name, value] : config->pairs()) {
      if (name != "dir") all.append(name).append(" ").append(value).append("\n");  // changes with moves
    }
  }
  const auto users = redis.next(), replication = redis.next(), persistence = redis.next();
  if (!config || !users || !replication || !persistence) return "";
  all += reply_text(users->view());
  all += replication->text();
  std::istringstream lines{std::string(persistence->text())};
  for (std::string line; std::getline(lines, line);) {
    if (line.find("status") != line.npos || line.find("_in_progress") != line.npos) all += line;
  }
  return all;
}

/// Resets everything that settings_of() does not cover; false if that fails. Cached scripts stay: they are named by
/// their content and hold no data, and compiling ours for each test took most of its time.
bool forget_everything(Redis& redis) {
  const std::initializer_list<Words> commands{{"CLIENT", "KILL", "SKIPME", "yes"},
                                              {"CLIENT", "UNPAUSE"},
                                              {"FLUSHALL", "SYNC"},
                                              {"FUNCTION", "FLUSH", "SYNC"},
                                              {"CONFIG", "RESETSTAT"},
                                              {"SLOWLOG", "RESET"},
                                              {"LATENCY", "RESET"},
                                              {"ACL", "LOG", "RESET"}};
  for (const Words& command : commands) redis.append(command);
  bool obeyed = true;
  for (std::size_t i = 0; i < commands.size(); ++i) obeyed = redis.next().has_value() && obeyed;
  return obeyed;
}

}  // namespace

pid_t spawn_server(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;  // a server left over by a crashed test must not keep the test's pipes open
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&quiet, 3);  // nor inherit our connections
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, argv.front(), &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) give_up("not installed");
  return pid;
}

std::string reply_text(ReplyView reply) {
  if (reply.is_nil()) return "(nil)";
  if (reply.is_integer()) return std::to_string(reply.integer());
  if (!reply.is_array()) return std::string(reply.text());
  std::string all;
  for (std::size_t i = 0; i < reply.size(); ++i) all += (i == 0 ? "" : " ") + reply_text(reply[i]);
  return all;
}

/// The idle servers. They are stopped at the end of this process, but not at the end of a forked child.
struct RedisServer::Idlers {
  Idlers() = default;
  Idlers(const Idlers&) = delete;
  Idlers& operator=(const Idlers&) = delete;
  ~Idlers() {
    if (getpid() != owner) return;
    for (const Idle& idle : all) {
      stop(idle.pid);
      remove_with_all_in_it(idle.directory);
    }
  }

  std::vector<Idle> all;
  pid_t owner = getpid();
};

RedisServer::Idlers& RedisServer::idlers() {
  static Idlers idlers;
  return idlers;
}

RedisServer::RedisServer(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), has_users_(std::ranges::count(arguments_, "--aclfile") == 0) {
  signal(SIGPIPE, SIG_IGN);  // as in main(): a lost connection must be an error value
  take_or_start();
}

RedisServer::~RedisServer() {
  if (make_idle()) return;
  kill();
  remove_with_all_in_it(directory_);
}

void RedisServer::take_or_start() {
  if (arguments_.empty() && !idlers().all.empty()) {
    Idle idle = std::move(idlers().all.back());
    idlers().all.pop_back();
    directory_ = std::move(idle.directory);
    pid_ = idle.pid;
    as_started_ = std::move(idle.as_started);
    return;
  }
  directory_ = new_directory();
  start();
  if (!arguments_.empty()) return;
  Redis redis(address_of(*this), std::chrono::seconds(5));
  if (redis.connect()) as_started_ = settings_of(redis);
}

/// Makes the server available to a later test, and then no longer owns it; false if that is impossible.
bool RedisServer::make_idle() {
  if (as_started_.empty() || pid_ <= 0) return false;
  // First move the socket, so that no client reconnects after all are disconnected below. The running server keeps the
  // directory, whatever its name is.
  std::error_code ignored;
  const std::filesystem::path there = new_directory();
  std::filesystem::rename(directory_, there, ignored);
  directory_ = there;
  Redis redis(address_of(*this), std::chrono::seconds(5));
  if (!redis.connect() || !forget_everything(redis) || settings_of(redis) != as_started_) return false;
  for (const auto& file : std::filesystem::directory_iterator(directory_, ignored)) {
    if (file.path() != socket() && file.path().filename() != "redis.log") remove_with_all_in_it(file.path());
  }
  idlers().all.push_back({directory_, pid_, std::move(as_started_)});
  return true;
}

void RedisServer::spawn(const std::vector<std::string>& more) {
  std::vector<std::string> words{
      "redis-server",      "--port",    "0",        "--unixsocket", socket().string(), "--save", "", "--dir",
      directory_.string(), "--logfile", "redis.log"};  // relative to the directory, which may be renamed
  if (has_users_) {
    const std::vector<std::string> users = published_users();
    words.insert(words.end(), users.begin(), users.end());
  }
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.insert(words.end(), more.begin(), more.end());
  pid_ = spawn_server(std::move(words));
}

void RedisServer::start_loading(const std::vector<std::string>& more) {
  spawn(more);
  as_started_.clear();
  await_answer(true);
}

void RedisServer::start(const std::vector<std::string>& more) {
  spawn(more);
  as_started_.clear();
  if (!await_answer(false)) has_users_ = false;
}

/// Waits until the server accepts commands or, with `loading`, reports that it is loading; false if it requires a
/// password.
bool RedisServer::await_answer(bool loading) {
  Redis redis(address_of(*this), std::chrono::seconds(5));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const auto pong = redis.command({"PING"});
    if (pong) return true;
    if (pong.error().code == StoreError::Code::auth) return false;
    if (pong.error().code == StoreError::Code::loading) {
      if (loading) return true;
      redis.disconnect();
    }
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      std::cerr << std::ifstream(directory_ / "redis.log").rdbuf();
      give_up("it ended at once");
    }
    if (std::chrono::steady_clock::now() > deadline) give_up("it does not answer");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // leaves the processor to the server
  }
}

void RedisServer::kill() {
  if (pid_ <= 0) return;
  stop(pid_);
  pid_ = -1;
}

void RedisServer::kill_once_written() {
  EXPECT_TRUE(eventually([&] {
    return redis_command(*this, {"INFO", "persistence"}).find("aof_buffer_length:0\r") != std::string::npos;
  })) << "it has an append-only file, and its disk answers";
  kill();
}

std::string redis_command(const RedisServer& server, const std::vector<std::string>& words) {
  Redis redis(address_of(server), std::chrono::seconds(5));
  const auto reply = redis.command(Words(words.begin(), words.end()));
  return reply ? reply_text(reply->view()) : "(error) " + reply.error().detail;
}

void load_scripts(const RedisServer& server) {
  Redis redis(address_of(server), std::chrono::seconds(5));
  for (const ScriptRow& row : script_rows) EXPECT_TRUE(redis.command({"SCRIPT", "LOAD", row.text})) << row.name;
}

}  // namespace feedmill::test
