#include "storage/timelines/timelines_of_all.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "parsers/text/strings.hpp"
#include "storage/entries/entries.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/partition.hpp"
#include "storage/timelines/stories.hpp"

namespace feedmill {
namespace {

/// The channel's user, "" if it has none.
std::string_view user_of(std::string_view uid) {
  const std::size_t slash = uid.find('/');
  return slash == uid.npos ? std::string_view() : uid.substr(0, slash);
}

}  // namespace

unsigned home_of_channel(std::string_view uid, unsigned count) {
  return home_of_user(user_of(uid), count);
}

std::vector<ChannelRecord> channels_together(std::span<const std::vector<ChannelRecord>> parts) {
  const auto count = static_cast<unsigned>(parts.size());
  if (count == 1) return parts.front();
  std::map<std::string_view, ChannelRecord> by_name;
  for (unsigned partition = 0; partition < count; ++partition) {
    for (const ChannelRecord& part : parts[partition]) {
      const auto [row, is_new] = by_name.try_emplace(part.uid, part);
      if (is_new) continue;
      row->second.feeds += part.feeds;
      row->second.unread += part.unread;
      if (home_of_channel(part.uid, count) == partition) row->second.position = part.position;
    }
  }
  std::vector<ChannelRecord> all;
  all.reserve(by_name.size());
  for (auto& [name, channel] : by_name) all.push_back(std::move(channel));
  std::ranges::sort(all, [](const ChannelRecord& a, const ChannelRecord& b) {
    return std::tuple(user_of(a.uid), a.position, std::string_view(a.uid)) <
           std::tuple(user_of(b.uid), b.position, std::string_view(b.uid));
  });
  return all;
}

std::vector<std::string> names_together(std::span<const std::vector<std::string>> parts, std::size_t most) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.resize(std::min(all.size(), most));
  return all;
}

std::vector<EntryCursor> places_together(std::span<const std::vector<EntryCursor>> parts, std::size_t most) {
  std::vector<EntryCursor> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most));
  std::ranges::partial_sort(all, middle, [](const EntryCursor& a, const EntryCursor& b) {
    return std::tie(a.score, a.id) > std::tie(b.score, b.id);
  });
  all.erase(middle, all.end());
  return all;
}

namespace {

/// Time in a notice's id: "1795398540945-1", the event's id, or "outage 1795398540945"; 0 if it has none.
std::pair<std::uint64_t, std::uint64_t> moment_of(const StoredNotice& notice) {
  std::string_view id = notice.id;
  while (!id.empty() && (id.front() < '0' || id.front() > '9'))
    id.remove_prefix(std::min(id.find(' '), id.size() - 1) + 1);
  return {leading_number<std::uint64_t>(id), leading_number<std::uint64_t>(id.substr(id.find('-') + 1))};
}

/// What an operators' notice is about, as in deliver_notices.lua.
std::string_view kind_of(const StoredNotice& notice) {
  if (notice.json.find("\"state\":\"never_read\"") != std::string::npos) return "never_read";
  constexpr std::string_view member = "\"type\":\"";
  const std::size_t at = notice.json.find(member);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(notice.json).substr(at + member.size());
  return rest.substr(0, rest.find('"'));
}

/// Drops the oldest notice of the most frequent kind until `max_notices` are left; `all` is sorted, newest first.
void drop_most_frequent(std::vector<StoredNotice>& all) {
  std::map<std::string, std::vector<std::size_t>> by_kind;  // indexes of each kind, newest first
  for (std::size_t i = 0; i < all.size(); ++i) by_kind[std::string(kind_of(all[i]))].push_back(i);
  std::vector<bool> gone(all.size());
  for (std::size_t left = all.size(); left > max_notices; --left) {
    auto& worst = std::ranges::max_element(by_kind, {}, [](const auto& kind) {
                    return std::pair(kind.second.size(), kind.second.empty() ? 0 : kind.second.back());
                  })->second;
    gone[worst.back()] = true;
    worst.pop_back();
  }
  std::size_t i = 0;
  std::erase_if(all, [&](const StoredNotice&) { return gone[i++]; });
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

std::vector<StoredNotice> notices_together(std::string_view user, std::span<const std::vector<StoredNotice>> parts) {
  std::vector<StoredNotice> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  if (parts.size() == 1) return all;  // in the given order
  std::ranges::stable_sort(all, std::ranges::greater(), moment_of);
  if (user == operator_user) drop_most_frequent(all);
  if (all.size() > max_notices) all.resize(max_notices);
  return all;
}

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

std::vector<std::string> ChannelsOfAll::titles(const std::string& uid, std::span<const std::string> urls) const {
  return answered(deployment_.of_feeds(
      urls, [&](Store& store, const std::vector<std::string>& own) { return Channels(store).titles(uid, own); }));
}

std::vector<std::optional<bool>> ChannelsOfAll::follow(const std::string& uid,
                                                       std::span<const std::string> urls) const {
  return answered(deployment_.of_feeds(urls, [&](Store& store, const std::vector<std::string>& own) {
    std::vector<Membership> memberships;
    memberships.reserve(own.size());
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

std::optional<FeedPlaces> ChannelsOfAll::places_of(const Membership& membership, Channels::Of which, std::size_t most,
                                                   const std::optional<EntryCursor>& before) const {
  if (!is_known(membership.uid)) return std::nullopt;
  Store& its = *stores()[partition_of(membership.feed_url, count())];
  return answered(Channels(its).places_of(membership, which, most, before));
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

std::vector<bool> ChannelsOfAll::are_unread(const std::string& uid, const std::vector<StoredEntry>& entries) const {
  return answered(deployment_.of_entries(ids_of(entries), [&](Store& store, const std::vector<std::string>& ids) {
    return Channels(store).are_unread(uid, ids);
  }));
}

bool ChannelsOfAll::is_built(const std::string& uid) const {
  return std::ranges::all_of(stores(), [&](Store* const at) {
    Channels channels(*at);
    return !answered(channels.is_known(uid)) || answered(channels.is_built(uid));
  });
}

std::vector<std::uint64_t> ChannelsOfAll::unread_of(const std::string& uid, std::span<const std::string> urls) const {
  return answered(deployment_.of_feeds(
      urls, [&](Store& store, const std::vector<std::string>& own) { return Channels(store).unread_of(uid, own); }));
}

std::vector<ChannelRecord> ChannelsOfAll::records(const std::vector<std::string>& uids) const {
  const auto read = [&](Store& store) { return Channels(store).records(uids); };
  auto all = channels_together(answered(deployment_.each(read)));
  std::ranges::sort(all, {}, &ChannelRecord::uid);
  return all;
}

std::size_t ChannelsOfAll::mark(const std::string& uid, As as, std::span<const std::string> entries) const {
  std::size_t marked = 0;
  for (unsigned partition = 0; partition < count(); ++partition) {
    Store& store = *stores()[partition];
    std::vector<std::string> ids;
    for (const std::string& entry : entries) {
      const auto named = count() > 1 ? partition_of_key(entry, count()) : std::nullopt;  // empty: it may be in any
                                                                                         // partition
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
