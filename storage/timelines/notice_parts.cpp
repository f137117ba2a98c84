#include "storage/timelines/notice_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/store/partition.hpp"

namespace feedmill {
namespace {

/// Time in a notice's id: "1795398540945-1", the event's id, or "outage 1795398540945"; 0 if it has none.
std::pair<std::uint64_t, std::uint64_t> moment_of(const StoredNotice& notice) {
  std::string_view id = notice.id;
  while (!id.empty() && (id.front() < '0' || id.front() > '9'))
    id.remove_prefix(std::min(id.find(' '), id.size() - 1) + 1);
  return {leading_number<std::uint64_t>(id), leading_number<std::uint64_t>(id.substr(id.find('-') + 1))};
}

}  // namespace

unsigned home_of_user(std::string_view user, unsigned count) {
  return partition_of_name(user, count);
}

bool is_same_rule(const Watch& one, const Watch& other) {
  return one.user == other.user && one.kind == other.kind && one.target == other.target;
}

std::vector<unsigned> copies_of_rule(const Watch& rule, unsigned count) {
  std::vector<unsigned> copies;
  for (unsigned partition = 0; partition < count; ++partition) {
    const bool is_told = rule.kind != Watch::Kind::feed || partition == partition_of(rule.target, count);
    if (is_told && partition != home_of_user(rule.user, count)) copies.push_back(partition);
  }
  return copies;
}

std::vector<StoredNotice> notices_together(std::span<const std::vector<StoredNotice>> parts) {
  std::vector<StoredNotice> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  if (parts.size() == 1) return all;  // as they were given
  std::ranges::stable_sort(all, std::ranges::greater(), moment_of);
  if (all.size() > max_notices) all.resize(max_notices);
  return all;
}

}  // namespace feedmill
