// A primary, replicas of it and sentinels that watch them: real servers on ports of their own, gone with the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace feedmill::test {

class WatchedRedis {
 public:
  /// Waits until the sentinels know each other and all nodes. They call a node down after 1500 ms: of a machine
  /// with much to do one that lives may not answer for half a second, and its replicas were not in step yet.
  explicit WatchedRedis(std::size_t nodes = 3, std::size_t sentinels = 3);
  ~WatchedRedis();
  WatchedRedis(const WatchedRedis&) = delete;
  WatchedRedis& operator=(const WatchedRedis&) = delete;

  /// redis+sentinel:// URL of all sentinels, as the default user, which has all rights.
  std::string url() const { return url_as(""); }
  /// As the worker's user of deploy/redis/users.acl.
  std::string worker_url() const { return url_as("feedmill:feedmill@"); }

  std::size_t nodes() const { return nodes_.size(); }
  RedisServer& node(std::size_t index) { return *nodes_[index]; }
  std::uint16_t port(std::size_t index) const { return ports_[index]; }
  std::uint16_t sentinel_port(std::size_t index) const { return sentinels_[index].port; }
  /// Which node the sentinels name.
  std::size_t primary() const;
  /// Has sentinels make another one primary, as an operator would: asked until they have, as they refuse while they
  /// know of none that may take its place, and give up. Aborts the test program after a minute, as the others here do.
  void hand_over() const;
  /// Waits until they name another one and that takes writes; which.
  std::size_t await_another(std::size_t than);
  /// Waits until as many replicas as there can be follow the primary to its last byte.
  void await_replicas();
  /// Sends a command to the sentinel itself: its answer as of redis_command().
  std::string ask_sentinel(std::size_t index, const std::vector<std::string>& words) const;
  void kill_sentinel(std::size_t index);

 private:
  struct Sentinel {
    std::uint16_t port = 0;
    pid_t pid = -1;
  };
  std::string url_as(const std::string& login) const;

  std::filesystem::path directory_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<Sentinel> sentinels_;
};

}  // namespace feedmill::test
