// A Redis Cluster: three primaries with a replica each, real servers on ports of their own, gone with the object.
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

class ClusteredRedis {
 public:
  /// Waits until all slots are served and replicas follow. A node is called down after a second.
  ClusteredRedis();

  /// redis+cluster:// URL of two of the nodes, as the default user, which has all rights.
  std::string url() const { return url_as(""); }
  /// As a user of deploy/redis/users.acl.
  std::string url_of(const std::string& user) const { return url_as(user + ":" + user + "@"); }

  std::size_t nodes() const { return nodes_.size(); }
  RedisServer& node(std::size_t index) { return *nodes_[index]; }
  std::uint16_t port(std::size_t index) const { return ports_[index]; }
  /// Which node holds the store, as those that live see it; nodes() when they do not agree yet.
  std::size_t primary() const;
  /// Waits until another one does; which. Aborts the test program after half a minute.
  std::size_t await_another(std::size_t than);
  /// Waits until each replica that lives follows its primary to the last byte.
  void await_replicas();
  /// Waits until every node reports that all slots are served.
  void await_service();
  /// Has a replica of the holder take its place, as an operator would.
  void hand_over();
  /// Moves the slot of the store to another primary, as redis-cli does it. `half_way`: called when a part of the keys
  /// has gone.
  void move_slot(const std::function<void()>& half_way);
  /// SIGSTOP and SIGCONT.
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
