// A Redis primary with replicas, and sentinels that watch them: real servers on free ports, stopped with the object.
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

/// Nodes and sentinels are numbered from 0; node 0 is the first primary.
class WatchedRedis {
 public:
  /// Waits until the sentinels know each other and all nodes. A node counts as down after 1500 ms: on a busy machine a
  /// live node may fail to respond for half a second, and its replicas would not be in sync yet.
  explicit WatchedRedis(std::size_t nodes = 3, std::size_t sentinels = 3);
  ~WatchedRedis();
  WatchedRedis(const WatchedRedis&) = delete;
  WatchedRedis& operator=(const WatchedRedis&) = delete;

  /// redis+sentinel:// URL of all sentinels, for the default user, with all permissions.
  std::string url() const { return url_as(""); }
  /// URL for the worker's user of deploy/redis/users.acl.
  std::string worker_url() const { return url_as("feedmill:feedmill@"); }

  std::size_t nodes() const { return nodes_.size(); }
  RedisServer& node(std::size_t index) { return *nodes_[index]; }
  std::uint16_t port(std::size_t index) const { return ports_[index]; }
  std::uint16_t sentinel_port(std::size_t index) const { return sentinels_[index].port; }
  /// The node that the sentinels name as primary; nodes() if they name another server.
  std::size_t primary() const;
  /// Makes the sentinels promote another node, as an operator would. Repeats the request until they have, because they
  /// refuse it while they know no suitable replica, and may give up. Aborts the test program after a minute, like the
  /// functions below.
  void hand_over() const;
  /// Waits until the sentinels name a primary other than `than` that accepts writes, and returns it.
  std::size_t await_another(std::size_t than);
  /// Waits until all live replicas have received everything the primary wrote.
  void await_replicas();
  /// Sends a command to one sentinel; returns its reply as redis_command() does.
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
