#include "tests/support/clustered_redis.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include <signal.h>

#include "parsers/text/strings.hpp"
#include "storage/redis/placement.hpp"
#include "storage/store/partition.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/free_port.hpp"

namespace feedmill::test {
namespace {

std::string store_slot() {
  return std::to_string(slot_of_tag(tag_of(Partition())));
}

/// Whether a slot range ("0-5460" or "7") contains the slot.
bool holds(const std::string& range, unsigned slot) {
  const auto dash = range.find('-');
  const auto first = leading_number<unsigned>(range);
  return first <= slot &&
         slot <= (dash == std::string::npos ? first : leading_number<unsigned>(range.substr(dash + 1)));
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

ClusteredRedis::ClusteredRedis() {
  std::string hosts;
  for (int i = 0; i < 6; ++i) {
    ports_.push_back(free_port());
    std::vector<std::string> arguments{"--port", std::to_string(ports_.back()), "--bind", "127.0.0.1"};
    arguments.insert(arguments.end(), {"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())});
    arguments.insert(arguments.end(), {"--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"});
    arguments.insert(arguments.end(), {"--appendonly", "yes", "--enable-debug-command", "yes"});
    nodes_.push_back(std::make_unique<RedisServer>(arguments));
    hosts += " 127.0.0.1:" + std::to_string(ports_.back());
  }
  const std::string create = "redis-cli --cluster create" + hosts + " --cluster-replicas 1 --cluster-yes >/dev/null";
  if (std::system(create.c_str()) != 0) std::abort();
  await_service();
  await_replicas();
}

std::string ClusteredRedis::url_as(const std::string& login) const {
  return "redis+cluster://" + login + "127.0.0.1:" + std::to_string(ports_[0]) +
         ",127.0.0.1:" + std::to_string(ports_[1]);
}

std::string ClusteredRedis::ask(std::size_t index, const std::vector<std::string>& words) const {
  return redis_command(*nodes_[index], words);
}

std::size_t ClusteredRedis::primary() const {
  const unsigned slot = slot_of_tag(tag_of(Partition()));
  std::size_t named = nodes();
  for (std::size_t asked = 0; asked < nodes(); ++asked) {
    if (!answers(asked)) continue;
    std::istringstream lines(ask(asked, {"CLUSTER", "NODES"}));
    std::size_t its = nodes();
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = words_of(line);  // id address flags primary ping pong epoch link slots…
      for (std::size_t i = 8; i < words.size(); ++i) {
        if (words[i].starts_with("[") || !holds(words[i], slot)) continue;
        for (std::size_t node = 0; node < nodes(); ++node) {
          if (words[1].starts_with("127.0.0.1:" + std::to_string(ports_[node]) + "@")) its = node;
        }
      }
    }
    if (its == nodes() || (named != nodes() && its != named)) return nodes();
    named = its;
  }
  return named;
}

std::size_t ClusteredRedis::await_another(std::size_t than) {
  std::size_t is = than;
  await_or_abort("clustered redis: another holder", [&] {
    is = primary();
    return is != than && is < nodes() && answers(is) &&
           ask(is, {"INFO", "replication"}).find("role:master") != std::string::npos &&
           ask(is, {"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  });
  return is;
}

void ClusteredRedis::await_replicas() {
  await_or_abort("clustered redis: replicas follow", [&] {
    std::vector<std::pair<std::string, std::string>> primaries;  // port and replication offset
    for (std::size_t i = 0; i < nodes(); ++i) {
      const std::string info = answers(i) ? ask(i, {"INFO", "replication"}) : "";
      if (info.find("role:master") == std::string::npos) continue;
      primaries.emplace_back(std::to_string(ports_[i]), info_value(info, "master_repl_offset"));
    }
    for (std::size_t i = 0; i < nodes(); ++i) {
      const std::string info = answers(i) ? ask(i, {"INFO", "replication"}) : "";
      if (info.find("role:slave") == std::string::npos) continue;
      const bool is_linked = info_value(info, "master_link_status") == "up";
      const auto offset = leading_number<std::int64_t>(info_value(info, "slave_repl_offset"));
      for (const auto& [port, place] : primaries) {
        if (port != info_value(info, "master_port")) continue;
        if (!is_linked || offset < leading_number<std::int64_t>(place)) return false;
      }
    }
    return true;
  });
}

void ClusteredRedis::await_service() {
  await_or_abort("clustered redis: all slots are served", [&] {
    for (std::size_t i = 0; i < nodes(); ++i) {
      if (answers(i) && ask(i, {"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) return false;
    }
    return primary() < nodes();
  });
}

std::size_t ClusteredRedis::replica_of(std::size_t primary) const {
  const std::string port = std::to_string(ports_[primary]);
  for (std::size_t i = 0; i < nodes(); ++i) {
    if (answers(i) && info_value(ask(i, {"INFO", "replication"}), "master_port") == port) return i;
  }
  return nodes();
}

void ClusteredRedis::hand_over() {
  std::size_t replica = nodes();
  await_or_abort("clustered redis: a replica", [&] { return (replica = replica_of(primary())) < nodes(); });
  await_or_abort("clustered redis: it takes over", [&] { return ask(replica, {"CLUSTER", "FAILOVER"}) == "OK"; });
}

void ClusteredRedis::move_slot(const std::function<void()>& half_way) {
  const std::size_t from = primary();
  std::size_t to = nodes();
  for (std::size_t i = 0; i < nodes(); ++i) {
    const bool is_primary = answers(i) && ask(i, {"INFO", "replication"}).find("role:master") != std::string::npos;
    if (is_primary && i != from) to = i;
  }
  const std::string from_id = ask(from, {"CLUSTER", "MYID"}), to_id = ask(to, {"CLUSTER", "MYID"});
  ask(to, {"CLUSTER", "SETSLOT", store_slot(), "IMPORTING", from_id});
  ask(from, {"CLUSTER", "SETSLOT", store_slot(), "MIGRATING", to_id});
  bool is_first = true;
  for (;;) {
    const std::vector<std::string> keys = words_of(ask(from, {"CLUSTER", "GETKEYSINSLOT", store_slot(), "50"}));
    if (keys.empty() || keys.front() == "0") break;
    std::vector<std::string> migrate{"MIGRATE", "127.0.0.1", std::to_string(ports_[to]), "", "0", "5000", "KEYS"};
    migrate.insert(migrate.end(), keys.begin(), keys.end());
    ask(from, migrate);
    if (std::exchange(is_first, false)) half_way();
  }
  for (const std::size_t told : {to, from}) ask(told, {"CLUSTER", "SETSLOT", store_slot(), "NODE", to_id});
  await_another(from);
}

void ClusteredRedis::pause(std::size_t index) {
  paused_.insert(index);
  ::kill(nodes_[index]->pid(), SIGSTOP);
}

void ClusteredRedis::resume(std::size_t index) {
  ::kill(nodes_[index]->pid(), SIGCONT);
  paused_.erase(index);
}

}  // namespace feedmill::test
