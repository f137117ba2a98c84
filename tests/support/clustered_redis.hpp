// A Redis Cluster for a test: three primaries with one replica each, real servers on free ports, stopped with the
// object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/redis_server.hpp"

namespace feedmill::test {

/// Nodes are numbered from 0. The store under test occupies a single slot; "the primary" is the node that serves it.
class ClusteredRedis {
 public:
  /// Waits until all slots are served and replicas are in sync. A node counts as down after a second.
  ClusteredRedis();

  /// redis+cluster:// URL of two nodes, for the default user, with all permissions.
  std::string url() const { return url_as(""); }
  /// URL for a user of deploy/redis/users.acl.
  std::string url_of(const std::string& user) const { return url_as(user + ":" + user + "@"); }

  std::size_t nodes() const { return nodes_.size(); }
  RedisServer& node(std::size_t index) { return *nodes_[index]; }
  std::uint16_t port(std::size_t index) const { return ports_[index]; }
  /// The store's primary according to the live nodes; nodes() while they disagree.
  std::size_t primary() const;
  /// Waits for a primary other than `than` and returns it. Aborts the test program after a minute.
  std::size_t await_another(std::size_t than);
  /// Waits until each live replica has received everything its primary wrote.
  void await_replicas();
  /// Waits until every node reports that all slots are served.
  void await_service();
  /// Makes a replica take over from the store's primary, as an operator would.
  void hand_over();
  /// Moves the store's slot to another primary, as redis-cli does. Calls `half_way` when part of the keys have been
  /// moved.
  void move_slot(const std::function<void()>& half_way);
  /// Stops and continues a node's process: SIGSTOP and SIGCONT.
  void pause(std::size_t index);
  void resume(std::size_t index);

 private:
  bool answers(std::size_t index) const { return nodes_[index]->pid() > 0 && !paused_.contains(index); }
  std::string ask(std::size_t index, const std::vector<std::string>& words) const;
  std::size_t replica_of(std::size_t primary) const;
  std::string url_as(const std::string& login) const;

  std::vector<std::uint16_t> ports_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::set<std::size_t> paused_;
};

}  // namespace feedmill::test
