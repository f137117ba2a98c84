#include "storage/timelines/channels_of_all.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/entries/entries.hpp"
#include "storage/store/answered.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/stories.hpp"

namespace feedmill {

std::vector<ChannelRecord> ChannelsOfAll::list() const {
  return channels_together(answered(deployment_.each([](Store& store) { return Channels(store).list(); })));
}

bool ChannelsOfAll::is_known(const std::string& uid) const {
  return std::ranges::any_of(stores(), [&](Store* const at) { return answered(Channels(*at).is_known(uid)); });
}

bool ChannelsOfAll::add(const std::string& uid) const {
  return answered(Channels(home_of(uid)).add(std::span(&uid, 1))).front();
}

bool ChannelsOfAll::remove(const std::string& uid) const {
  bool was_there = false;
  for (Store* const at : stores()) was_there = answered(Channels(*at).remove(uid)) || was_there;
  return was_there;
}

void ChannelsOfAll::order(std::span<const std::string> uids) const {
  std::map<unsigned, std::vector<std::string>> by_home;
  for (const std::string& uid : uids) by_home[home_of_channel(uid, count())].push_back(uid);
  for (const auto& [home, own] : by_home) {
    Channels channels(*stores()[home]);
    if (count() > 1) answered(channels.add(own));  // a channel with feeds of other partitions only has no position yet
    answered(channels.order(own));
  }
}

std::vector<std::string> ChannelsOfAll::feeds_after(const std::string& uid, const std::string& after,
                                                    std::size_t most) const {
  const auto more = [&](Store& store) { return Channels(store).feeds_after(uid, after, most); };
  return names_together(answered(deployment_.each(more)), most);
}

std::vector<std::optional<bool>> ChannelsOfAll::follow(const std::string& uid,
                                                       std::span<const std::string> urls) const {
  return answered(deployment_.of_feeds(urls, [&](Store& store, const std::vector<std::string>& own) {
    std::vector<Membership> memberships;
    for (const std::string& url : own) memberships.push_back({uid, url});
    return Channels(store).follow(memberships);
  }));
}

bool ChannelsOfAll::unfollow(const Membership& membership) const {
  Store& store = *stores()[partition_of(membership.feed_url, count())];
  return answered(Channels(store).unfollow(membership)).value_or(false);
}

std::optional<std::vector<EntryCursor>> ChannelsOfAll::places(const std::string& uid, Channels::Of which,
                                                              std::size_t most,
                                                              const std::optional<EntryCursor>& before) const {
  std::vector<std::vector<EntryCursor>> parts;
  for (Store* const at : stores()) {
    if (auto places = answered(Channels(*at).places(uid, which, most, before))) parts.push_back(std::move(*places));
  }
  if (parts.empty()) return std::nullopt;
  return places_together(parts, most);
}

std::vector<StoredEntry> ChannelsOfAll::entries_at(std::span<const EntryCursor> places) const {
  using Found = std::vector<std::optional<StoredEntry>>;
  const auto read = [](Store& store, const std::vector<std::string>& ids) -> StoreResult<Found> {
    auto entries = Entries(store).get_all(ids);
    if (!entries) return entries.error();
    Found found(ids.size());
    for (StoredEntry& entry : *entries) {
      const auto its = std::ranges::find(ids, entry.id) - ids.begin();
      found[static_cast<std::size_t>(its)] = std::move(entry);
    }
    return found;
  };
  std::vector<StoredEntry> entries;
  for (std::optional<StoredEntry>& entry : answered(deployment_.of_entries(ids_of(places), read))) {
    if (entry) entries.push_back(std::move(*entry));
  }
  return entries;
}

std::vector<StoredEntry> ChannelsOfAll::entries(const std::string& uid, Channels::Of which, std::size_t most,
                                                const std::optional<EntryCursor>& before) const {
  return entries_at(places(uid, which, most, before).value_or(std::vector<EntryCursor>()));
}

std::vector<bool> ChannelsOfAll::are_first_told(const std::string& uid, Channels::Of which,
                                                const std::vector<StoredEntry>& entries) const {
  return answered(deployment_.of_entries(ids_of(entries), [&](Store& store, const std::vector<std::string>& ids) {
    return Stories(store).is_first_told(uid, which == Channels::Of::all, ids);
  }));
}

std::size_t ChannelsOfAll::mark(const std::string& uid, As as, std::span<const std::string> entries) const {
  std::size_t marked = 0;
  for (unsigned partition = 0; partition < count(); ++partition) {
    Store& store = *stores()[partition];
    std::vector<std::string> ids;
    for (const std::string& entry : entries) {
      const auto named = count() > 1 ? partition_of_key(entry, count()) : std::nullopt;  // none: in any partition
      if (named.value_or(partition) == partition) ids.push_back(Entries(store).id_of(entry));
    }
    if (ids.empty()) continue;
    Channels channels(store);
    marked += answered(as == As::read ? channels.mark_read(uid, ids) : channels.mark_unread(uid, ids)).value_or(0);
  }
  return marked;
}

std::size_t ChannelsOfAll::mark_all_read(const std::string& uid) const {
  std::size_t marked = 0;
  for (Store* const at : stores()) marked += answered(Channels(*at).mark_all_read(uid)).value_or(0);
  return marked;
}

}  // namespace feedmill
