// A redis-server for a test: on a unix socket, in a temporary directory, stopped with the object.
//
// Starting a server costs more than most tests do. One that was started without arguments, and is unchanged at the end
// of its test, is emptied and given to a later test of this process. It gets another path, so that clients left over
// from the earlier test cannot reconnect. A server that was killed or restarted, that has another configuration or
// other users, or that does not respond, ends with its test. Tests need not care: each gets an empty server without
// clients.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

#include "storage/redis/redis.hpp"

namespace feedmill::test {

class RedisServer {
 public:
  /// Starts the server and waits until it responds; aborts the test program if none is installed. Not thread-safe.
  /// `arguments`: further command-line arguments, such as {"--appendonly", "yes"}.
  explicit RedisServer(std::vector<std::string> arguments = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// URL for the worker's user of deploy/redis/users.acl, with exactly the permissions published there.
  std::string url() const { return has_users_ ? url_of("feedmill") : admin_url(); }
  /// URL for another user of that file: "feedmill_reader", "feedmill_admin".
  std::string url_of(const std::string& user) const { return "unix://" + user + ":" + user + "@" + socket().string(); }
  /// URL for the default user, with all permissions.
  std::string admin_url() const { return "unix://" + socket().string(); }
  std::filesystem::path socket() const { return directory_ / "redis.sock"; }
  const std::filesystem::path& directory() const { return directory_; }
  pid_t pid() const { return pid_; }

  /// Kills the server with SIGKILL, as a crash does. With `appendfsync everysec` an acknowledged write may be lost:
  /// while an fsync is running on a slow disk, Redis keeps written data in memory for up to two seconds.
  void kill();
  /// Kills the server once all acknowledged writes are in its append-only file.
  void kill_once_written();
  /// Starts a killed server again on its directory and waits until it responds. `more`: arguments for this start only.
  void start(const std::vector<std::string>& more = {});
  /// Starts a killed server again and waits only until it reports that it is loading.
  void start_loading(const std::vector<std::string>& more);

 private:
  /// A running server without a test.
  struct Idle {
    std::filesystem::path directory;
    pid_t pid = -1;
    std::string as_started;  ///< its configuration, users and replicas as Redis reports them
  };
  struct Idlers;
  static Idlers& idlers();

  void take_or_start();
  bool make_idle();
  void spawn(const std::vector<std::string>& more);
  bool await_answer(bool loading);

  std::filesystem::path directory_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  bool has_users_;  // has the published users; false with an ACL file of its own, or if the default user has a password
  std::string as_started_;  // as in Idle; "" = must not be reused
};

/// Starts a server program with its arguments, without output and without our file descriptors. Aborts the test program
/// on failure.
pid_t spawn_server(std::vector<std::string> words);

/// A reply as text: arrays joined by spaces, nil as "(nil)", an empty string as "".
std::string reply_text(ReplyView reply);

/// Runs one command as the default user on a new connection, to inspect the store directly; returns its reply_text().
std::string redis_command(const RedisServer& server, const std::vector<std::string>& words);

/// Loads all our scripts, as if a worker had been there before; the first call of a script then succeeds.
void load_scripts(const RedisServer& server);

}  // namespace feedmill::test
