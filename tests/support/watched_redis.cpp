#include "tests/support/watched_redis.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include "storage/redis/redis.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/free_port.hpp"

namespace feedmill::test {
WatchedRedis::WatchedRedis(std::size_t nodes, std::size_t sentinels) {
  for (std::size_t i = 0; i < nodes; ++i) {
    ports_.push_back(free_port());
    std::vector<std::string> arguments{"--port", std::to_string(ports_[i]), "--bind", "127.0.0.1"};
    arguments.insert(arguments.end(), {"--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"});
    arguments.insert(arguments.end(), {"--appendonly", "yes"});
    if (i > 0) arguments.insert(arguments.end(), {"--replicaof", "127.0.0.1", std::to_string(ports_[0])});
    nodes_.push_back(std::make_unique<RedisServer>(arguments));
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-sentinels-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  directory_ = pattern;
  await_replicas();
  const std::string quorum = std::to_string(sentinels / 2 + 1);
  for (std::size_t i = 0; i < sentinels; ++i) {
    const std::uint16_t port = free_port();
    const std::filesystem::path config = directory_ / (std::to_string(port) + ".conf");
    std::ofstream(config) << "port " << port << "\nbind 127.0.0.1\ndir " << directory_.string()
                          << "\nsentinel monitor mymaster 127.0.0.1 " << ports_[0] << " " << quorum
                          << "\nsentinel down-after-milliseconds mymaster 1500"
                             "\nsentinel failover-timeout mymaster 3000\nsentinel parallel-syncs mymaster 8\n";
    sentinels_.push_back({port, spawn_server({"redis-server", config.string(), "--sentinel"})});
  }
  await_or_abort("watched redis: sentinels know each other", [&] {
    for (std::size_t i = 0; i < sentinels; ++i) {
      const std::string known = ask_sentinel(i, {"SENTINEL", "MASTER", "mymaster"});
      if (known.find("num-slaves " + std::to_string(nodes - 1)) == known.npos ||
          known.find("num-other-sentinels " + std::to_string(sentinels - 1)) == known.npos)
        return false;
    }
    return true;
  });
}

WatchedRedis::~WatchedRedis() {
  for (std::size_t i = 0; i < sentinels_.size(); ++i) kill_sentinel(i);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string WatchedRedis::url_as(const std::string& login) const {
  std::string hosts;
  for (const Sentinel& sentinel : sentinels_) {
    hosts += (hosts.empty() ? "" : ",") + std::string("127.0.0.1:") + std::to_string(sentinel.port);
  }
  return "redis+sentinel://" + login + hosts + "/mymaster";
}

std::string WatchedRedis::ask_sentinel(std::size_t index, const std::vector<std::string>& words) const {
  RedisAddress address;
  address.host = "127.0.0.1";
  address.port = sentinels_[index].port;
  Redis sentinel(address, std::chrono::seconds(2));
  const auto reply = sentinel.command(Words(words.begin(), words.end()));
  return reply ? reply_text(reply->view()) : "(error) " + reply.error().detail;
}

std::size_t WatchedRedis::primary() const {
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (sentinels_[i].pid < 0) continue;
    const std::string named = ask_sentinel(i, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
    for (std::size_t node = 0; node < ports_.size(); ++node) {
      if (named == "127.0.0.1 " + std::to_string(ports_[node])) return node;
    }
  }
  return ports_.size();
}

void WatchedRedis::hand_over() const {
  const std::size_t before = primary();
  await_or_abort("watched redis: sentinels hand over", [&] {  // repeated, because they give up after failover-timeout
    if (primary() != before) return true;
    ask_sentinel(0, {"SENTINEL", "FAILOVER", "mymaster"});
    return false;
  });
}

std::size_t WatchedRedis::await_another(std::size_t than) {
  std::size_t is = than;
  await_or_abort("watched redis: another primary", [&] {
    is = primary();
    return is != than && is < nodes() &&
           redis_command(*nodes_[is], {"INFO", "replication"}).find("role:master") != std::string::npos;
  });
  return is;
}

void WatchedRedis::await_replicas() {
  await_or_abort("watched redis: replicas follow", [&] {
    const std::size_t is = sentinels_.empty() ? 0 : primary();
    if (is >= nodes()) return false;
    std::size_t living = 0;
    for (const auto& node : nodes_) living += node->pid() > 0 ? 1 : 0;
    redis_command(*nodes_[is], {"SET", "state:test", "1"});
    return redis_command(*nodes_[is], {"WAIT", std::to_string(living - 1), "200"}) == std::to_string(living - 1);
  });
  if (!sentinels_.empty()) redis_command(*nodes_[primary()], {"DEL", "state:test"});
}

void WatchedRedis::kill_sentinel(std::size_t index) {
  Sentinel& sentinel = sentinels_[index];
  if (sentinel.pid < 0) return;
  ::kill(sentinel.pid, SIGKILL);
  waitpid(sentinel.pid, nullptr, 0);
  sentinel.pid = -1;
}

}  // namespace feedmill::test
