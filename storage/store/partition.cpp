#include "storage/store/partition.hpp"

#include <algorithm>
#include <cstdint>

#include "parsers/text/strings.hpp"
#include "storage/redis/placement.hpp"

namespace feedmill {
namespace {

/// Element `number` of a, b, …, z, aa, ab, …; from 0.
std::string ending(std::size_t number) {
  std::string letters;
  for (++number; number > 0; number = (number - 1) / 26)
    letters.insert(letters.begin(), static_cast<char>('a' + (number - 1) % 26));
  return letters;
}

/// Equals host_of_gate(server_of()) of storage/lua/shared/prelude.lua.
std::string_view host_of(std::string_view url) {
  const std::size_t start = url.find("://");
  if (start == url.npos) return {};
  std::string_view authority = url.substr(start + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

}  // namespace

std::string tag_of(const Partition& partition) {
  const std::string digits = std::to_string(partition.index);
  std::string name = "p" + std::string(3 - digits.size(), '0') + digits;
  if (partition.is_whole()) return name;
  for (std::size_t number = 0;; ++number) {
    std::string tag = name + "." + ending(number);
    if (slot_of_tag(tag) * partition.count / cluster_slots == partition.index) return tag;
  }
}

unsigned partition_of_name(std::string_view name, unsigned count) {
  return key_hash(name) % count;
}

unsigned partition_of(std::string_view feed_url, unsigned count) {
  return partition_of_name(host_of(feed_url), count);
}

std::map<unsigned, std::vector<std::size_t>> shares_of(std::span<const std::string> feed_urls, unsigned count) {
  std::map<unsigned, std::vector<std::size_t>> shares;
  for (std::size_t i = 0; i < feed_urls.size(); ++i) shares[partition_of(feed_urls[i], count)].push_back(i);
  return shares;
}

std::optional<unsigned> partition_of_key(std::string_view key, unsigned count) {
  const std::size_t open = key.find('{'), close = key.find('}');
  if (close == key.npos || open > close) return std::nullopt;
  const std::string_view tag = key.substr(open + 1, close - open - 1);
  const unsigned index = leading_number<unsigned>(tag.substr(std::min<std::size_t>(1, tag.size())), count);
  return index < count && tag == tag_of({index, count}) ? std::optional(index) : std::nullopt;
}

unsigned partition_of_entry(std::string_view id, unsigned count) {
  if (const auto its = partition_of_key(id, count)) return *its;
  return static_cast<unsigned>(leading_number<std::uint64_t>(id.substr(id.rfind(':') + 1)) % count);
}

std::map<unsigned, std::vector<std::size_t>> shares_of_entries(std::span<const std::string> ids, unsigned count) {
  std::map<unsigned, std::vector<std::size_t>> shares;
  for (std::size_t i = 0; i < ids.size(); ++i) shares[partition_of_entry(ids[i], count)].push_back(i);
  return shares;
}

}  // namespace feedmill
