#include "worker/verbs/channels_of_all.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/entries/entries.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/stories.hpp"

namespace feedmill {

std::vector<ChannelRecord> ChannelsOfAll::list() const {
  if (count() == 1) return or_fail(Channels(stores_.front().store).list());
  std::vector<std::vector<ChannelRecord>> parts;
  for (const VerbContext& at : stores_) parts.push_back(or_fail(Channels(at.store).list()));
  return channels_together(parts);
}

bool ChannelsOfAll::is_known(const std::string& uid) const {
  return std::ranges::any_of(stores_, [&](const auto& at) { return or_fail(Channels(at.store).is_known(uid)); });
}

bool ChannelsOfAll::add(const std::string& uid) const {
  return or_fail(Channels(home_of(uid).store).add(std::span(&uid, 1))).front();
}

bool ChannelsOfAll::remove(const std::string& uid) const {
  bool was_there = false;
  for (const VerbContext& at : stores_) was_there = or_fail(Channels(at.store).remove(uid)) || was_there;
  return was_there;
}

void ChannelsOfAll::order(std::span<const std::string> uids) const {
  std::map<unsigned, std::vector<std::string>> by_home;
  for (const std::string& uid : uids) by_home[home_of_channel(uid, count())].push_back(uid);
  for (const auto& [home, own] : by_home) {
    Channels channels(stores_[home].store);
    if (count() > 1) or_fail(channels.add(own));  // a channel with feeds of other partitions only has no position yet
    or_fail(channels.order(own));
  }
}

std::vector<std::string> ChannelsOfAll::feeds_after(const std::string& uid, const std::string& after,
                                                    std::size_t most) const {
  std::vector<std::vector<std::string>> parts;
  for (const VerbContext& at : stores_) parts.push_back(or_fail(Channels(at.store).feeds_after(uid, after, most)));
  return names_together(parts, most);
}

std::optional<std::string> ChannelsOfAll::unknown_feed(std::span<const std::string> urls) const {
  for (const auto& [partition, places] : shares_of(urls, count())) {
    std::vector<std::string> own;
    for (const std::size_t place : places) own.push_back(urls[place]);
    const auto records = all_records(stores_[partition].store, own);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!records[i]) return own[i];
    }
  }
  return std::nullopt;
}

std::vector<std::optional<bool>> ChannelsOfAll::follow(const std::string& uid,
                                                       std::span<const std::string> urls) const {
  std::vector<std::optional<bool>> all(urls.size());
  for (const auto& [partition, places] : shares_of(urls, count())) {
    std::vector<Membership> memberships;
    for (const std::size_t place : places) memberships.push_back({uid, urls[place]});
    const auto followed = or_fail(Channels(stores_[partition].store).follow(memberships));
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = followed[i];
  }
  return all;
}

bool ChannelsOfAll::unfollow(const Membership& membership) const {
  Store& store = stores_[partition_of(membership.feed_url, count())].store;
  return or_fail(Channels(store).unfollow(membership)).value_or(false);
}

std::vector<StoredEntry> ChannelsOfAll::entries(const std::string& uid, Channels::Of which, std::size_t most,
                                                const std::optional<EntryCursor>& before) const {
  std::vector<std::vector<EntryCursor>> parts;
  for (const VerbContext& at : stores_) {
    auto places = or_fail(Channels(at.store).places(uid, which, most, before));
    parts.push_back(places ? std::move(*places) : std::vector<EntryCursor>());
  }
  const std::vector<std::string> ids = ids_of(places_together(parts, most));
  std::map<std::string, StoredEntry> found;
  for (const VerbContext& at : stores_) {
    for (StoredEntry& entry : or_fail(Entries(at.store).get_all(ids))) found[entry.id] = std::move(entry);
  }
  std::vector<StoredEntry> entries;
  for (const std::string& id : ids) {
    if (const auto its = found.find(id); its != found.end()) entries.push_back(std::move(its->second));
  }
  return entries;
}

std::vector<bool> ChannelsOfAll::are_first_told(const std::string& uid, Channels::Of which,
                                                const std::vector<StoredEntry>& entries) const {
  std::vector<bool> first(entries.size());
  for (const auto& [partition, places] : shares_of_entries(ids_of(entries), count())) {
    std::vector<std::string> ids;
    for (const std::size_t place : places) ids.push_back(entries[place].id);
    const auto told = or_fail(Stories(stores_[partition].store).is_first_told(uid, which == Channels::Of::all, ids));
    for (std::size_t i = 0; i < places.size(); ++i) first[places[i]] = told[i];
  }
  return first;
}

std::size_t ChannelsOfAll::mark(const std::string& uid, As as, std::span<const std::string> entries) const {
  std::size_t marked = 0;
  for (unsigned partition = 0; partition < count(); ++partition) {
    Store& store = stores_[partition].store;
    std::vector<std::string> ids;
    for (const std::string& entry : entries) {
      const auto named = count() > 1 ? partition_of_key(entry, count()) : std::nullopt;  // none: in any partition
      if (named.value_or(partition) == partition) ids.push_back(Entries(store).id_of(entry));
    }
    if (ids.empty()) continue;
    Channels channels(store);
    marked += or_fail(as == As::read ? channels.mark_read(uid, ids) : channels.mark_unread(uid, ids)).value_or(0);
  }
  return marked;
}

std::size_t ChannelsOfAll::mark_all_read(const std::string& uid) const {
  std::size_t marked = 0;
  for (const VerbContext& at : stores_) marked += or_fail(Channels(at.store).mark_all_read(uid)).value_or(0);
  return marked;
}

}  // namespace feedmill
