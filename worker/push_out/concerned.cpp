#include "worker/push_out/concerned.hpp"

#include <utility>

namespace feedmill {
namespace {

template <class Index>
void take_out(Index& index, const std::string& name, const std::string& id) {
  const auto found = index.find(name);
  if (found == index.end()) return;
  found->second.erase(id);
  if (found->second.empty()) index.erase(found);
}

}  // namespace

void ConcernedIndex::take(const SubscriberChanges& changes) {
  if (changes.anew) {
    rows_.clear();
    of_feed_.clear();
    of_channel_.clear();
    of_all_.clear();
  }
  for (const std::string& id : changes.gone) forget(id);
  for (const SubscriberChanges::Row& row : changes.changed) {
    forget(row.id);
    if (row.filter.of_all_feeds()) of_all_.insert(row.id);
    for (const std::string& feed : row.filter.feeds) of_feed_[feed].insert(row.id);
    for (const std::string& channel : row.filter.channels) of_channel_[channel].insert(row.id);
    rows_.emplace(row.id, row);
  }
}

void ConcernedIndex::forget(const std::string& id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  of_all_.erase(id);
  for (const std::string& feed : found->second.filter.feeds) take_out(of_feed_, feed, id);
  for (const std::string& channel : found->second.filter.channels) take_out(of_channel_, channel, id);
  rows_.erase(found);
}

std::vector<std::string> ConcernedIndex::all() const {
  std::vector<std::string> ids;
  for (const auto& [id, row] : rows_) ids.push_back(id);
  return ids;
}

ConcernedIndex::Concerned ConcernedIndex::of(const OutsideEvent& event) const {
  Concerned ids;
  if (!event.told) return ids;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const Ids& some) {
    for (const std::string& id : some) {
      const SubscriberChanges::Row& row = rows_.find(id)->second;
      if (!row.filter.wants_kind(event.event) || !seen.insert(id).second) continue;
      (event.is_private && !row.with_private ? ids.withheld : ids.told).push_back(id);
    }
  };
  add(of_all_);
  if (const auto found = of_feed_.find(event.event.feed_url); found != of_feed_.end()) add(found->second);
  for (const std::string& channel : event.channels) {
    if (const auto found = of_channel_.find(channel); found != of_channel_.end()) add(found->second);
  }
  return ids;
}

}  // namespace feedmill
