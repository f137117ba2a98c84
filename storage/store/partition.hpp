// Partitions: the stores of a deployment too large for one cluster node (RELIABILITY L27).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

inline constexpr unsigned most_partitions = 256;

/// One of `count` partitions; index < count.
struct Partition {
  unsigned index = 0, count = 1;

  bool is_whole() const { return count == 1; }
  bool operator==(const Partition&) const = default;
};

/// The hash tag in the braces of the partition's keys, which decides their slot. A single partition has "p000".
/// Otherwise "p003.x", with the shortest, then alphabetically first, ending that puts partition i into the i-th of
/// `count` equal parts of the slots, so that any number of nodes gets equal shares.
std::string tag_of(const Partition& partition);

/// The partition, of `count`, for a name: CRC16 of the name modulo `count`. Feeds are placed by their host.
unsigned partition_of_name(std::string_view name, unsigned count);
/// The partition of the feed with this canonical URL.
unsigned partition_of(std::string_view feed_url, unsigned count);

/// Indexes into `feed_urls`, by partition.
std::map<unsigned, std::vector<std::size_t>> shares_of(std::span<const std::string> feed_urls, unsigned count);

/// The partition of a full key such as "{p003.a}:Entry:17"; absent if it has none of the tags.
std::optional<unsigned> partition_of_key(std::string_view key, unsigned count);

/// The partition of an entry, given by key or number; 0 for invalid ids.
unsigned partition_of_entry(std::string_view id, unsigned count);
/// Indexes into `ids`, by the partition of the entry.
std::map<unsigned, std::vector<std::size_t>> shares_of_entries(std::span<const std::string> ids, unsigned count);

}  // namespace feedmill
