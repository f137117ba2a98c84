// A redis-server of a test's own: on a unix socket, in a directory of its own, gone with the object.
//
// Starting one costs more than most tests do. A server that was started without arguments and is unchanged at the end
// is emptied and serves a later test of the same process, under another path, so clients left over from the earlier
// test cannot reconnect. A server that was killed or restarted, whose configuration or users differ, or that does not
// answer, ends with its test. Tests need not know: each gets an empty server without clients.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

#include "storage/redis/redis.hpp"

namespace feedmill::test {

class RedisServer {
 public:
  /// Starts it and waits until it answers; aborts the test program when none is installed. Not on two threads at once.
  /// `arguments`: further command-line arguments, as in {"--appendonly", "yes"}.
  explicit RedisServer(std::vector<std::string> arguments = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// As the worker's user of deploy/redis/users.acl, with no right that is not published there.
  std::string url() const { return has_users_ ? url_of("feedmill") : admin_url(); }
  /// As another user of that file: "feedmill_reader", "feedmill_admin".
  std::string url_of(const std::string& user) const { return "unix://" + user + ":" + user + "@" + socket().string(); }
  /// As the default user, which has all rights.
  std::string admin_url() const { return "unix://" + socket().string(); }
  std::filesystem::path socket() const { return directory_ / "redis.sock"; }
  const std::filesystem::path& directory() const { return directory_; }
  pid_t pid() const { return pid_; }

  /// SIGKILL, as in a crash. With everysec an answered write may be lost: while an fsync is running, on a slow disk,
  /// Redis holds written data in memory for up to two seconds.
  void kill();
  /// Kills it once every answered write is in its append-only file.
  void kill_once_written();
  /// Starts it again on the same directory and waits until it answers. `more`: arguments of this time only.
  void start(const std::vector<std::string>& more = {});
  /// Starts it again and waits only until it reports that it is loading.
  void start_loading(const std::vector<std::string>& more);

 private:
  /// A server that serves no test.
  struct Idle {
    std::filesystem::path directory;
    pid_t pid = -1;
    std::string as_started;  ///< its configuration, users and replicas, as Redis tells them
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
  bool has_users_;  // those that are published; not with a file of other users, or where the default has a password
  std::string as_started_;  // as of Idle; "" = not to be used again
};

/// Starts a server's program by its words: quietly, and without files of ours. Aborts the test program when it cannot
/// be.
pid_t spawn_server(std::vector<std::string> words);

/// As text: arrays joined by spaces, nil as "(nil)", an empty string as "".
std::string reply_text(ReplyView reply);

/// One command of the default user on a connection of its own, for inspecting the store directly: its reply_text().
std::string redis_command(const RedisServer& server, const std::vector<std::string>& words);

/// Loads all our scripts, as where a worker has been before: the first call of one is carried out then.
void load_scripts(const RedisServer& server);

}  // namespace feedmill::test
