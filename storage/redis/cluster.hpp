// Redis Cluster and Valkey Cluster: which node holds a slot. See "Redis cluster specification" of the Redis manual.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/redis/redis_address.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Of a plain URL.
std::string remedy_at_cluster_node(const RedisAddress& address);

inline constexpr unsigned cluster_slots = 16'384;

/// CRC16 (XMODEM) as a cluster takes it, 0 to 65,535.
unsigned key_hash(std::string_view name);
/// The slot of keys with this tag (what stands between their braces), 0 to 16,383.
unsigned slot_of_tag(std::string_view tag);

/// Asks the nodes of `address.cluster` in turn until one names the primary that holds `address.slot`, and writes it
/// into `host` and `port`. Lasts `timeout` at most. Whoever answered is asked last the next time, so that one which is
/// cut off from the others does not mislead twice; nodes that were named to any connection of this process are asked,
/// too. Otherwise why nobody did, each of them with its reason: `unavailable` or `loading` where one may know soon,
/// else what is wrong with all: `unsupported` (no cluster), `auth`, `tls`. From any thread.
std::optional<StoreError> find_holder(RedisAddress& address, Milliseconds timeout);

/// Says that a node did not answer within a connection's timeout, for the next second; or that it answers. From any
/// thread.
void note_silence(const NodeAddress& node);
void note_answer(const NodeAddress& node);
/// Whether one is silent, as any connection of this process has found out: others need not wait as long for the same.
/// From any thread.
bool is_silent(const NodeAddress& node);

}  // namespace feedmill
