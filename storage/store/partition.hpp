// Partitions: the stores of which a deployment consists that is larger than one node of a cluster (RELIABILITY L27).
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

/// One of `count`; index < count.
struct Partition {
  unsigned index = 0, count = 1;

  bool is_whole() const { return count == 1; }
  bool operator==(const Partition&) const = default;
};

/// What stands between the braces of its keys and decides on their slot: "p000" of one alone, else "p003.x" with the
/// shortest ending, and the first of these in the alphabet, that puts partition i into the i-th of `count` equal parts
/// of the slots. So nodes get equal shares, however many there are.
std::string tag_of(const Partition& partition);

/// Which of `count` has what is named so: CRC16 of the name modulo `count`. Feeds go by their host.
unsigned partition_of_name(std::string_view name, unsigned count);
/// The same of a feed with this canonical URL.
unsigned partition_of(std::string_view feed_url, unsigned count);

/// Which of `feed_urls` each of `count` has, by their places.
std::map<unsigned, std::vector<std::size_t>> shares_of(std::span<const std::string> feed_urls, unsigned count);

/// Which of `count` has a key that is written whole, as "{p003.a}:Entry:17"; nothing where it has none of their tags.
std::optional<unsigned> partition_of_key(std::string_view key, unsigned count);

/// Which of `count` has the entry that is named by its key, or by its number; 0 where nothing can be called so.
unsigned partition_of_entry(std::string_view id, unsigned count);
/// Which of these entries each of `count` has, by their places.
std::map<unsigned, std::vector<std::size_t>> shares_of_entries(std::span<const std::string> ids, unsigned count);

}  // namespace feedmill
