// Selects the entries to keep of a very long document.
#include <algorithm>
#include <numeric>

#include "parsers/feed/formats.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t slack = 2000;  // extra entries gathered before the oldest are dropped: keeps the selection linear

Time date_of(const Entry& entry) {
  if (entry.updated.time) return *entry.updated.time;
  return entry.published.time.value_or(Time::min());
}

}  // namespace

bool may_be_entry(pugi::xml_node node) {
  const std::string_view name = node.name();
  return (name.size() >= 4 && iequals(name.substr(name.size() - 4), "item")) ||
         (name.size() >= 5 && iequals(name.substr(name.size() - 5), "entry"));
}

void reserve_entries(Feed& feed, std::size_t count, Allowance& allowance) {
  const std::size_t affordable = allowance.memory() / 4 * 3 / sizeof(Entry);  // not all memory is for entries
  const std::size_t room = std::min({count, max_entries + slack, affordable});
  if (room <= feed.entries.capacity()) return;
  allowance.take((room - feed.entries.capacity()) * sizeof(Entry));
  feed.entries.reserve(room);
}

Entry* new_entry(Feed& feed, Allowance& allowance) {
  std::vector<Entry>& entries = feed.entries;
  ++feed.account.entries;
  if (entries.size() >= max_entries + slack) keep_newest(entries);
  if (entries.size() == entries.capacity()) {  // old and new buffer coexist while it grows
    const std::size_t more = std::max<std::size_t>(16, entries.size());
    const std::size_t bytes = (entries.size() + more) * sizeof(Entry);
    if (!allowance.affords(bytes)) return nullptr;
    allowance.take(more * sizeof(Entry));
    entries.reserve(entries.size() + more);
  }
  return &entries.emplace_back();
}

void keep_newest(std::vector<Entry>& entries) {
  if (entries.size() <= max_entries) return;
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto newer = [&](std::uint32_t a, std::uint32_t b) {
    const Time first = date_of(entries[a]);
    const Time second = date_of(entries[b]);
    return first != second ? first > second : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(max_entries), order.end(), newer);
  order.resize(max_entries);
  std::sort(order.begin(), order.end());
  for (std::size_t to = 0; to < order.size(); ++to) {
    if (order[to] != to) entries[to] = std::move(entries[order[to]]);
  }
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(max_entries), entries.end());
}

}  // namespace feedmill
