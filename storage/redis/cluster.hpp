// Redis Cluster and Valkey Cluster: finds the node that holds a slot. See the "Redis cluster specification" in the
// Redis manual.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/redis/redis_address.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

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
