// Channels, rules and notices of a deployment, with or without partitions (RELIABILITY L31).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/store/deployment.hpp"
#include "storage/timelines/channels.hpp"
#include "storage/timelines/notifications.hpp"

namespace feedmill {

/// Home of a channel among `count` partitions: where it is created and where its position is stored. All channels of a
/// user have the same home, and so have all channels without a user.
unsigned home_of_channel(std::string_view uid, unsigned count);

/// Merges the channels of all partitions, given in order: feeds and unread posts are summed, the position is the
/// home's, or else the first part's. Channels of one user stay together, in order. A single part stays as it is.
std::vector<ChannelRecord> channels_together(std::span<const std::vector<ChannelRecord>> parts);

/// The first `most` of the sorted names, without duplicates.
std::vector<std::string> names_together(std::span<const std::vector<std::string>> parts, std::size_t most);

/// The newest `most` positions of all parts; each part is sorted newest first.
std::vector<EntryCursor> places_together(std::span<const std::vector<EntryCursor>> parts, std::size_t most);

// Merges rules and notices of a deployment of several partitions from the parts in each partition (RELIABILITY L32).

/// Home of a user among `count` partitions: it stores all the user's rules and assigns their ids.
unsigned home_of_user(std::string_view user, unsigned count);

/// Whether both rules watch the same thing; ids are ignored.
bool is_same_rule(const Watch& one, const Watch& other);

/// The partitions, of `count` and except the user's home, with a copy of a rule: its feed's partition, or all.
std::vector<unsigned> copies_of_rule(const Watch& rule, unsigned count);

/// A user's notices of all partitions, newest first, at most max_notices: the newest; for operators, as in one
/// partition, without the oldest of the most frequent kind.
std::vector<StoredNotice> notices_together(std::string_view user, std::span<const std::vector<StoredNotice>> parts);

// The channels of a deployment, with or without partitions (RELIABILITY L31).

/// All members throw StoreFailure if a store fails or does not answer.
class ChannelsOfAll {
 public:
  explicit ChannelsOfAll(const Deployment& deployment) : deployment_(deployment) {}

  std::vector<ChannelRecord> list() const;
  bool is_known(const std::string& uid) const;
  /// Creates a channel; true if it was new to its home.
  bool add(const std::string& uid) const;
  /// Removes a channel; false if it was unknown.
  bool remove(const std::string& uid) const;
  /// Numbers channels in the given order; with partitions separately for each user.
  void order(std::span<const std::string> uids) const;

  /// The first `most` feeds of a channel after `after`, sorted.
  std::vector<std::string> feeds_after(const std::string& uid, const std::string& after, std::size_t most) const;
  /// The titles that the channel gives to these feeds, "" for none.
  std::vector<std::string> titles(const std::string& uid, std::span<const std::string> urls) const;
  /// Puts feeds into a channel, as Channels::follow().
  std::vector<std::optional<bool>> follow(const std::string& uid, std::span<const std::string> urls) const;
  /// Takes a feed out of a channel; true if it was in it.
  bool unfollow(const Membership& membership) const;

  /// Positions of unread or all entries, newest first, at most `most`, after `before` if given; absent if the channel
  /// is unknown.
  std::optional<std::vector<EntryCursor>> places(const std::string& uid, Channels::Of which, std::size_t most,
                                                 const std::optional<EntryCursor>& before) const;
  /// Positions of one feed's posts in a channel, as Channels::places_of(); absent if the channel is unknown.
  std::optional<FeedPlaces> places_of(const Membership& membership, Channels::Of which, std::size_t most,
                                      const std::optional<EntryCursor>& before) const;
  /// The entries at these positions that still exist.
  std::vector<StoredEntry> entries_at(std::span<const EntryCursor> places) const;
  /// Unread or all entries, newest first, at most `most`, before `before` if given.
  std::vector<StoredEntry> entries(const std::string& uid, Channels::Of which, std::size_t most,
                                   const std::optional<EntryCursor>& before) const;
  /// Whether each entry is the first about its story (Stories::is_first_told()), within its partition.
  std::vector<bool> are_first_told(const std::string& uid, Channels::Of which,
                                   const std::vector<StoredEntry>& entries) const;
  /// Whether each entry is unread in the channel.
  std::vector<bool> are_unread(const std::string& uid, const std::vector<StoredEntry>& entries) const;
  /// Whether every part of the channel has a complete index of all posts, without which places() of Of::all fails.
  bool is_built(const std::string& uid) const;
  /// The channels with the counts of all their parts, sorted by uid.
  std::vector<ChannelRecord> records(const std::vector<std::string>& uids) const;
  /// Number of unread posts of each feed in the channel.
  std::vector<std::uint64_t> unread_of(const std::string& uid, std::span<const std::string> urls) const;
  enum class As { read, unread };
  /// Marks entries, given by id or number; returns the number changed.
  std::size_t mark(const std::string& uid, As as, std::span<const std::string> entries) const;
  std::size_t mark_all_read(const std::string& uid) const;

 private:
  std::span<Store* const> stores() const { return deployment_.stores(); }
  unsigned count() const { return static_cast<unsigned>(stores().size()); }
  Store& home_of(const std::string& uid) const { return *stores()[home_of_channel(uid, count())]; }

  const Deployment& deployment_;
};

}  // namespace feedmill
