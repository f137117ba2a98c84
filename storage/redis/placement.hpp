// Finds the server to talk to: asks sentinels for the primary of a service, nodes of a cluster for the holder of a
// slot. See "Guidelines for Redis clients with support for Redis Sentinel" and the "Redis cluster specification" in the
// Redis manual.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/redis/redis.hpp"
#include "storage/redis/redis_address.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// The sentinels of one address. Not thread-safe.
class Sentinels {
 public:
  /// Asks `address.sentinels` in turn until one names the primary of `address.service`, stores it in `host` and `port`,
  /// and moves that sentinel to the front. Takes at most `timeout`. On failure returns an error with each sentinel's
  /// reason: `unavailable` if one may know soon, else `unsupported` (not sentinels, or an unknown service), `auth` or
  /// `tls`.
  std::optional<StoreError> find_primary(RedisAddress& address, Milliseconds timeout);

  /// Whether the first sentinel now names another primary. Asks it at most once a second and waits at most 200 ms;
  /// without an answer returns false and moves the next sentinel to the front.
  bool name_another(RedisAddress& address);

 private:
  std::unique_ptr<Redis> answering_;  // connection to the first sentinel, null at first
  std::chrono::steady_clock::time_point asked_;
};

/// Calls `ask(node, time)` for each node until one succeeds; returns its index and result. All calls together get
/// `timeout`. Otherwise returns `nobody_tells` with each node's reason; the code is the first transient one
/// (unavailable, timeout, loading), else the last, and `unsupported` without nodes.
template <class Told, class Ask>
StoreResult<std::pair<std::size_t, Told>> ask_in_turn(std::span<const NodeAddress> nodes, Milliseconds timeout,
                                                      std::string nobody_tells, const Ask& ask) {
  using Code = StoreError::Code;
  const auto may_pass = [](Code code) {
    return code == Code::unavailable || code == Code::timeout || code == Code::loading;
  };
  const Milliseconds each = std::max(timeout / static_cast<int>(nodes.size()), Milliseconds(1));
  StoreError failed{Code::unsupported, std::move(nobody_tells)};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    StoreResult<Told> told = ask(nodes[i], each);
    if (told) return std::pair(i, std::move(*told));
    if (i == 0 || !may_pass(failed.code)) failed.code = told.error().code;
    failed.detail += (i == 0 ? ": " : "; ") + shown(nodes[i]) + ": " + told.error().detail;
  }
  return failed;
}

/// How to write the URL when a plain one names a cluster node.
std::string remedy_at_cluster_node(const RedisAddress& address);

inline constexpr unsigned cluster_slots = 16'384;

/// CRC16 (XMODEM) as clusters compute it, 0 to 65,535.
unsigned key_hash(std::string_view name);
/// The slot of keys with this tag (the text between their braces), 0 to 16,383.
unsigned slot_of_tag(std::string_view tag);

/// Asks the nodes of `address.cluster` in turn until one names the primary that holds `address.slot`, and stores it in
/// `host` and `port`. Takes at most `timeout`. The node that answered is asked last next time, so that one cut off from
/// the others does not mislead twice; nodes learned by any connection of this process are asked too. On failure returns
/// an error with each node's reason: `unavailable` or `loading` if one may know soon, else `unsupported` (not a
/// cluster), `auth` or `tls`. Thread-safe.
std::optional<StoreError> find_holder(RedisAddress& address, Milliseconds timeout);

/// Record, for all connections of this process, that a node did not answer within a connection's timeout (for one
/// second), or that it answers. Thread-safe.
void note_silence(const NodeAddress& node);
void note_answer(const NodeAddress& node);
/// Whether any connection of this process has recently found the node silent: others need not wait for it. Thread-safe.
bool is_silent(const NodeAddress& node);

}  // namespace feedmill
