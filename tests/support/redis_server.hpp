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

  /// As the worker's user of deploy/redis/users.acl, with no right that is not published there.
  std::string url() const { return has_users_ ? url_of("feedmill") : admin_url(); }
  /// As another user of that file: "feedmill_reader", "feedmill_admin".
  std::string url_of(const std::string& user) const { return "unix://" + user + ":" + user + "@" + socket().string(); }
  /// As the default user, who may do everything.
  std::string admin_url() const { return "unix://" + socket().string(); }
  std::filesystem::path socket() const { return directory_ / "redis.sock"; }
  const std::filesystem::path& directory() const { return directory_; }
  pid_t pid() const { return pid_; }

  /// SIGKILL, as a crash.
  void kill();
  /// Starts it again on the same directory and waits until it answers. `more`: arguments of this time only.
  void start(const std::vector<std::string>& more = {});
  /// The same without waiting, for a server that has much to load. Only the default user is known then.
  void start_loading(const std::vector<std::string>& more);

 private:
  std::filesystem::path directory_;
  void spawn(const std::vector<std::string>& more);
  void make_users();

  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  bool has_users_ = false;  // not where the default user has a password
};

/// One command of the default user on a connection of its own, for looking behind the store's back: its answer as text,
/// arrays joined by spaces, nil as "(nil)".
std::string redis_command(const RedisServer& server, const std::vector<std::string>& words);

}  // namespace feedmill::test
