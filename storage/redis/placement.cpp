#include "storage/redis/placement.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include <boost/crc.hpp>

#include "storage/redis/redis_address.hpp"

namespace feedmill {
namespace {

constexpr Milliseconds ask_again = std::chrono::seconds(1), longest_to_ask_again{200};

RedisAddress address_of(const NodeAddress& one, const RedisAddress& address) {
  RedisAddress its = address;  // keeps TLS
  its.host = one.host;
  its.port = one.port;
  its.user = address.sentinel_user;
  its.password = address.sentinel_password;
  its.database = 0;
  its.sentinels.clear();
  its.service.clear();
  return its;
}

/// The primary's name or address and port, or why this sentinel does not give it.
StoreResult<NodeAddress> ask(Redis& sentinel, const NodeAddress& one, const RedisAddress& address) {
  const auto answer = sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.service});
  if (!answer) {
    const bool is_none = answer.error().detail.starts_with("ERR unknown command");
    if (is_none) {
      RedisAddress server = address;  // with the servers' login instead of the sentinels'
      server.host = one.host;
      server.port = one.port;
      return StoreError{StoreError::Code::unsupported, "it is not a sentinel; for one server write " +
                                                           url_as("", server) + ", for a cluster node " +
                                                           url_as("+cluster", server)};
    }
    StoreError error = answer.error();
    if (error.detail.starts_with("NOAUTH")) {
      error = {StoreError::Code::auth, "it requires redis.sentinel_password_file"};
    } else if (error.code == StoreError::Code::auth) {
      error.detail += "; check redis.sentinel_user and redis.sentinel_password_file";
    }
    return error;
  }
  if (answer->is_nil()) {
    return StoreError{StoreError::Code::unsupported, "it does not know \"" + address.service + "\""};
  }
  NodeAddress primary{std::string((*answer)[0].text()), static_cast<std::uint16_t>((*answer)[1].integer())};
  if (answer->size() != 2 || primary.host.empty() || primary.port == 0) {
    return StoreError{StoreError::Code::bug, "its answer has no address"};
  }
  return primary;
}

}  // namespace

std::optional<StoreError> Sentinels::find_primary(RedisAddress& address, Milliseconds timeout) {
  std::vector<NodeAddress>& all = address.sentinels;
  auto told = ask_in_turn<NodeAddress>(all, timeout, "no sentinel reports where \"" + address.service + "\" is",
                                       [&](const NodeAddress& one, Milliseconds time) {
                                         Redis sentinel(address_of(one, address), time);
                                         return ask(sentinel, one, address);
                                       });
  if (!told) return told.error();
  const auto& [at, primary] = *told;
  answering_.reset();  // the connection may be to another sentinel
  asked_ = std::chrono::steady_clock::now();
  address.host = primary.host;
  address.port = primary.port;
  const auto answered = all.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(all.begin(), answered, answered + 1);
  return {};
}

bool Sentinels::name_another(RedisAddress& address) {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < ask_again) return false;
  asked_ = now;
  std::vector<NodeAddress>& all = address.sentinels;
  if (!answering_) answering_ = std::make_unique<Redis>(address_of(all.front(), address), longest_to_ask_again);
  const auto primary = ask(*answering_, all.front(), address);
  if (primary) return primary->host != address.host || primary->port != address.port;
  answering_.reset();
  std::rotate(all.begin(), all.begin() + 1, all.end());
  return false;
}

namespace {

constexpr std::size_t most_learned = 16, longest_host = 255;

RedisAddress as_node(const NodeAddress& node, const RedisAddress& address) {
  RedisAddress its = address;  // keeps login and TLS
  its.host = node.host;
  its.port = node.port;
  its.cluster.clear();
  return its;
}

/// A node as `asked` reports it; without a host it is `asked` itself, which does not know its own address.
std::optional<NodeAddress> read_node(ReplyView told, const NodeAddress& asked) {
  const std::int64_t port = told[1].integer();
  std::string host(told[0].text());
  if (told.size() < 2 || port < 1 || port > std::numeric_limits<std::uint16_t>::max()) return {};
  if (host.empty()) host = asked.host;
  if (host == "?" || host.size() > longest_host) return {};
  return NodeAddress{std::move(host), static_cast<std::uint16_t>(port), true};
}

/// Nodes learned from clusters, by the nodes of their URLs, so that new connections work even if all of these are gone;
/// also which nodes are silent. Thread-safe.
class KnownNodes {
 public:
  using Clock = std::chrono::steady_clock;

  void put_silent(const NodeAddress& node, Clock::time_point until) {
    const Turn turn(taken_);
    std::erase_if(silent_, [&](const Silent& one) { return one.node == node || one.until <= Clock::now(); });
    if (until > Clock::now()) silent_.push_back({node, until});
  }
  bool is_silent(const NodeAddress& node) {
    const Turn turn(taken_);
    const auto found = std::ranges::find(silent_, node, &Silent::node);
    return found != silent_.end() && Clock::now() < found->until;
  }
  std::vector<NodeAddress> of(const std::string& cluster) {
    const Turn turn(taken_);
    const auto found = std::ranges::find(clusters_, cluster, &Told::cluster);
    return found == clusters_.end() ? std::vector<NodeAddress>() : found->nodes;
  }
  void put(const std::string& cluster, const std::vector<NodeAddress>& nodes) {
    const Turn turn(taken_);
    std::erase_if(clusters_, [&](const Told& one) { return one.cluster == cluster; });
    if (clusters_.size() == most) clusters_.erase(clusters_.begin());
    clusters_.push_back({cluster, nodes});
  }

 private:
  static constexpr std::size_t most = 16;
  struct Told {
    std::string cluster;
    std::vector<NodeAddress> nodes;
  };
  struct Silent {
    NodeAddress node;
    Clock::time_point until;
  };
  /// Spin lock, held for microseconds.
  struct Turn {
    explicit Turn(std::atomic_flag& flag) : taken(flag) {
      while (taken.test_and_set(std::memory_order_acquire)) taken.wait(true);
    }
    ~Turn() {
      taken.clear(std::memory_order_release);
      taken.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::atomic_flag& taken;
  };

  std::atomic_flag taken_;
  std::vector<Told> clusters_;
  std::vector<Silent> silent_;
};

KnownNodes& known_nodes() {
  static KnownNodes all;
  return all;
}

bool is_among(const std::vector<NodeAddress>& nodes, const NodeAddress& one) {
  return std::ranges::find(nodes, one) != nodes.end();
}

/// The nodes of the URL, sorted, without learned ones.
std::string name_of(const std::vector<NodeAddress>& nodes) {
  std::vector<std::string> names;
  for (const NodeAddress& node : nodes) {
    if (!node.is_learned) names.push_back(shown(node));
  }
  std::ranges::sort(names);
  std::string name;
  for (const std::string& one : names) name += one + ",";
  return name;
}

struct SlotMap {
  NodeAddress holder;
  std::vector<NodeAddress> nodes;
};

StoreResult<SlotMap> ask(const NodeAddress& asked, const RedisAddress& address, Milliseconds timeout) {
  using Code = StoreError::Code;
  if (is_silent(asked)) return StoreError{Code::unavailable, "it did not answer recently"};
  const RedisAddress its = as_node(asked, address);
  const auto answer = Redis(its, timeout).command({"CLUSTER", "SLOTS"});
  if (!answer) {
    const std::string& why = answer.error().detail;
    const bool is_none = why.starts_with("ERR unknown command") || why.find("cluster support disabled") != why.npos;
    if (is_none) {
      return StoreError{Code::unsupported, "it is not a cluster node; for one server write " + url_as("", its) +
                                               ", for a sentinel " + url_as("+sentinel", its) + "/service"};
    }
    return answer.error();
  }
  SlotMap map;
  bool is_held = false;
  for (std::size_t i = 0; i < answer->size(); ++i) {
    const ReplyView range = (*answer)[i];
    const bool holds = range[0].integer() <= address.slot && address.slot <= range[1].integer();
    is_held = is_held || (holds && range.size() > 2);
    for (std::size_t k = 2; k < range.size(); ++k) {
      auto told = read_node(range[k], asked);
      if (!told) continue;
      if (holds && k == 2) map.holder = *told;
      if (!is_among(map.nodes, *told) && map.nodes.size() < most_learned) map.nodes.push_back(std::move(*told));
    }
  }
  if (map.holder.host.empty()) {
    const std::string slot = std::to_string(address.slot);
    return StoreError{Code::loading, is_held ? "it gives no address of the node that holds slot " + slot +
                                                   " (cluster-announce-ip, cluster-announce-tls-port)"
                                             : "no node holds slot " + slot + " (redis-cli --cluster check)"};
  }
  return map;
}

}  // namespace

std::string remedy_at_cluster_node(const RedisAddress& address) {
  return "redis.url names a node of a Redis Cluster; write " + url_as("+cluster", address);
}

unsigned key_hash(std::string_view name) {
  boost::crc_optimal<16, 0x1021> crc;
  crc.process_bytes(name.data(), name.size());
  return crc.checksum();
}

unsigned slot_of_tag(std::string_view tag) {
  return key_hash(tag) % cluster_slots;
}

void note_silence(const NodeAddress& node) {
  known_nodes().put_silent(node, std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

void note_answer(const NodeAddress& node) {
  known_nodes().put_silent(node, {});
}

bool is_silent(const NodeAddress& node) {
  return known_nodes().is_silent(node);
}

std::optional<StoreError> find_holder(RedisAddress& address, Milliseconds timeout) {
  std::vector<NodeAddress>& all = address.cluster;
  const std::string cluster = name_of(all);
  const auto learn = [&all](std::vector<NodeAddress> nodes) {
    std::erase_if(all, [&](const NodeAddress& node) { return node.is_learned && !is_among(nodes, node); });
    for (NodeAddress& node : nodes) {
      if (!is_among(all, node)) all.push_back(std::move(node));
    }
  };
  learn(known_nodes().of(cluster));
  auto told = ask_in_turn<SlotMap>(all, timeout, "no cluster node reports where the store is",
                                   [&](const NodeAddress& one, Milliseconds time) { return ask(one, address, time); });
  if (!told) return told.error();
  auto& [at, map] = *told;
  address.host = std::move(map.holder.host);
  address.port = map.holder.port;
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end());
  known_nodes().put(cluster, map.nodes);
  learn(std::move(map.nodes));
  return {};
}

}  // namespace feedmill
