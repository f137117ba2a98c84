// The channels of a deployment as verbs see them, whether its store is in one piece or in partitions (RELIABILITY L31).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/timelines/channel_parts.hpp"
#include "storage/timelines/channels.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Over the stores that with_stores() gives, which outlive this: those of all partitions in their order, or one.
/// All members throw VerbFailure where a store does not answer.
class ChannelsOfAll {
 public:
  explicit ChannelsOfAll(std::span<const VerbContext> stores) : stores_(stores) {}

  std::vector<ChannelRecord> list() const;
  bool is_known(const std::string& uid) const;
  /// True where it was new to its home.
  bool add(const std::string& uid) const;
  /// False where it was unknown.
  bool remove(const std::string& uid) const;
  /// Numbers channels in the order given: those of each user, where there are partitions.
  void order(std::span<const std::string> uids) const;

  /// The first `most` feeds of a channel behind `after`, sorted.
  std::vector<std::string> feeds_after(const std::string& uid, const std::string& after, std::size_t most) const;
  /// The first of these canonical URLs that is no feed.
  std::optional<std::string> unknown_feed(std::span<const std::string> urls) const;
  /// Puts feeds into a channel, as Channels::follow().
  std::vector<std::optional<bool>> follow(const std::string& uid, std::span<const std::string> urls) const;
  /// Whether it was in it.
  bool unfollow(const Membership& membership) const;

  /// What is unread or all, newest first, at most `most`, after `before` when given.
  std::vector<StoredEntry> entries(const std::string& uid, Channels::Of which, std::size_t most,
                                   const std::optional<EntryCursor>& before) const;
  /// Which of these are the first of their stories there (Stories::is_first_told()), each within its partition.
  std::vector<bool> are_first_told(const std::string& uid, Channels::Of which,
                                   const std::vector<StoredEntry>& entries) const;
  enum class As { read, unread };
  /// Marks entries, given by id or number; returns how many changed.
  std::size_t mark(const std::string& uid, As as, std::span<const std::string> entries) const;
  std::size_t mark_all_read(const std::string& uid) const;

 private:
  unsigned count() const { return static_cast<unsigned>(stores_.size()); }
  const VerbContext& home_of(const std::string& uid) const { return stores_[home_of_channel(uid, count())]; }

  std::span<const VerbContext> stores_;
};

}  // namespace feedmill
