// Which entries of a very long document are kept.
#include <algorithm>
#include <numeric>

#include "parsers/formats.hpp"

namespace feedmill {
namespace {

constexpr std::size_t slack = 2000;  // how many more are gathered before the oldest go: keeps the sorting out linear

Time date_of(const Entry& entry) {
  if (entry.updated.time) return *entry.updated.time;
  return entry.published.time.value_or(Time::min());
}

}  // namespace

void reserve_entries(Feed& feed, std::size_t count) {
  feed.entries.reserve(std::min(count, max_entries + slack));
}

Entry& new_entry(Feed& feed) {
  ++feed.account.entries;
  if (feed.entries.size() >= max_entries + slack) keep_newest(feed.entries);
  return feed.entries.emplace_back();
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
