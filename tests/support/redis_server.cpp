#include "tests/support/redis_server.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "storage/redis/redis.hpp"

extern char** environ;

namespace feedmill::test {
namespace {

RedisAddress address_of(const RedisServer& server) {
  return *parse_redis_url(server.admin_url());
}

std::string text_of(ReplyView reply) {
  if (reply.is_nil()) return "(nil)";
  if (!reply.is_array()) return reply.text().empty() ? std::to_string(reply.integer()) : std::string(reply.text());
  std::string all;
  for (std::size_t i = 0; i < reply.size(); ++i) all += (i == 0 ? "" : " ") + text_of(reply[i]);
  return all;
}

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "tests need redis-server: %s\n", what);
  std::abort();
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) give_up("no temporary directory");
  directory_ = pattern;
  signal(SIGPIPE, SIG_IGN);  // as main() does: a lost connection is an error value
  start();
}

RedisServer::~RedisServer() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void RedisServer::spawn(const std::vector<std::string>& more) {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 "0",
                                 "--unixsocket",
                                 socket().string(),
                                 "--save",
                                 "",
                                 "--dir",
                                 directory_.string(),
                                 "--logfile",
                                 (directory_ / "redis.log").string()};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;  // a server left behind by a crashed test must not hold the test's pipes open
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&quiet, 3);  // nor connections of ours open
  const int failed = posix_spawnp(&pid_, "redis-server", &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) give_up("not installed");
}

void RedisServer::start_loading(const std::vector<std::string>& more) {
  spawn(more);
  has_users_ = false;
}

void RedisServer::start(const std::vector<std::string>& more) {
  spawn(more);
  Redis redis(address_of(*this), std::chrono::seconds(5));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const auto pong = redis.command({"PING"});
    if (pong) return make_users();
    if (pong.error().code == StoreError::Code::auth) return;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) give_up("it ended at once");
    if (std::chrono::steady_clock::now() > deadline) give_up("it does not answer");
    std::this_thread::yield();
    if (pong.error().code == StoreError::Code::loading) redis.disconnect();
  }
}

/// Each line of the published file, with the user's name as password; but the default user stays, for tests to look
/// behind the store's back.
void RedisServer::make_users() {
  std::ifstream file(FEEDMILL_USERS_ACL);
  Redis redis(address_of(*this), std::chrono::seconds(5));
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::vector<std::string> words{"ACL", "SETUSER"};
    std::string word;
    text >> word;  // "user"
    while (text >> word) words.push_back(word);
    if (words[2] == "default") continue;
    words.push_back(">" + words[2]);
    if (!redis.command(Words(words.begin(), words.end()))) give_up("it does not take " FEEDMILL_USERS_ACL);
    has_users_ = true;
  }
  if (!has_users_) give_up("no users in " FEEDMILL_USERS_ACL);
}

void RedisServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string redis_command(const RedisServer& server, const std::vector<std::string>& words) {
  Redis redis(address_of(server), std::chrono::seconds(5));
  const auto reply = redis.command(Words(words.begin(), words.end()));
  return reply ? text_of(*reply) : "(error) " + reply.error().detail;
}

}  // namespace feedmill::test
