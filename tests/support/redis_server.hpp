// A redis-server of a test's own: on a unix socket, in a directory of its own, gone with the object.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace feedmill::test {

class RedisServer {
 public:
  /// Starts it and waits until it answers; aborts the test program when none is installed.
  /// `arguments`: further command-line arguments, as in {"--appendonly", "yes"}.
  explicit RedisServer(std::vector<std::string> arguments = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string url() const { return "unix://" + (directory_ / "redis.sock").string(); }
  const std::filesystem::path& directory() const { return directory_; }
  pid_t pid() const { return pid_; }

  /// SIGKILL, as a crash.
  void kill();
  /// Starts it again on the same directory and waits until it answers.
  void start();

 private:
  std::filesystem::path directory_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
};

/// One command on a connection of its own, for looking behind the store's back: its answer as text, arrays joined by
/// spaces, nil as "(nil)".
std::string redis_command(const RedisServer& server, const std::vector<std::string>& words);

}  // namespace feedmill::test
