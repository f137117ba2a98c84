// Channels: named timelines of posts from feeds, for one user or for all (DESIGN §3). The keys are in keys.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "storage/store/store.hpp"
#include "storage/timelines/in_parts.hpp"

namespace feedmill {

/// Why the name of a channel or user is invalid, "" = valid: 1 to 1024 bytes without control characters. Data stored
/// under any valid name may be read and removed.
std::string_view unfit_name(std::string_view name);
/// Like unfit_name(), for a name to be stored: it must also be UTF-8, because JSON and OPML contain it.
std::string_view unfit_text_name(std::string_view name);
/// Like unfit_text_name(), for a new channel: neither it nor a part of USER/NAME may be blank, and it is not a URL.
std::string_view unfit_new_channel(std::string_view uid);
/// Like unfit_text_name(), for a user with new channels: no slash, because USER/NAME is a channel.
std::string_view unfit_new_user(std::string_view user);

/// A channel with its counts.
struct ChannelRecord {
  std::string uid;            ///< may be <user>/<channel>
  std::int64_t position = 0;  ///< in the sort order; ties are sorted by uid
  std::uint64_t feeds = 0;
  std::uint64_t unread = 0;  ///< posts in the timeline; read posts leave it
};

/// A feed in a channel.
struct Membership {
  std::string uid, feed_url;
  std::string title{};  ///< for follow(): the channel's own for the feed, unless it has one; "" = none
};

/// Some posts of a feed in a channel.
struct FeedPlaces {
  std::vector<EntryCursor> places;  ///< newest first
  std::optional<EntryCursor> rest;  ///< older ones may follow it; absent: there are none
};

/// The channels of one store, over a Store's connection. A value is absent if the channel does not exist. The cost of a
/// call is bounded by the stored data of one feed; longer work runs in steps, and a repeated call resumes it.
class Channels {
 public:
  /// `store` must outlive this object.
  explicit Channels(Store& store) : impl_(store.impl()) {}

  /// Appends new channels to the order; true for each that is new. Names must be valid.
  StoreResult<std::vector<bool>> add(std::span<const std::string> uids);
  /// Deletes a channel and everything stored for it, including rules that watch it; false if unknown.
  StoreResult<bool> remove(const std::string& uid);
  StoreResult<bool> remove(const std::string& uid, InParts& parts);
  /// All channels, in sort order.
  StoreResult<std::vector<ChannelRecord>> list();
  /// The first `most` names after `after` that start with `beginning`, ordered as in Feeds::urls_after().
  StoreResult<std::vector<std::string>> names_after(const std::string& after, std::size_t most,
                                                    const std::string& beginning);
  /// Channels with their counts, in the order given; zeros if unknown.
  StoreResult<std::vector<ChannelRecord>> records(std::span<const std::string> uids);
  StoreResult<bool> is_known(const std::string& uid);
  /// Numbers channels in the order given, 1000 at a time; call it again if interrupted.
  StoreResult<void> order(std::span<const std::string> uids);
  /// Redistributes the positions of these channels among them in the order given. Returns false, without changes, if
  /// one does not exist. `uids` must be unique.
  StoreResult<bool> order_among(std::span<const std::string> uids);

  /// The feeds of a channel, sorted.
  StoreResult<std::optional<std::vector<std::string>>> feeds(const std::string& uid);
  /// The first `most` feeds of a channel after `after`, ordered as in Feeds::urls_after().
  StoreResult<std::vector<std::string>> feeds_after(const std::string& uid, const std::string& after, std::size_t most);
  /// For each feed whether the channel contains it.
  StoreResult<std::vector<bool>> holds(const std::string& uid, std::span<const std::string> feed_urls);
  /// The titles that the channel gives to these feeds (Feeds::add()), "" for none.
  StoreResult<std::vector<std::string>> titles(const std::string& uid, std::span<const std::string> feed_urls);
  /// Adds feeds to channels, and their posts to the timelines; true if the feed is new to the channel. Absent also if
  /// the feed does not exist. In a partition, a missing channel is created (RELIABILITY L31).
  StoreResult<std::vector<std::optional<bool>>> follow(std::span<const Membership> memberships);
  /// Removes a feed and its posts from a channel; false if it was not in it.
  StoreResult<std::optional<bool>> unfollow(const Membership& membership);
  StoreResult<std::optional<bool>> unfollow(const Membership& membership, InParts& parts);
  /// Removes a formerly registered feed from every channel.
  StoreResult<void> forget_feed(const std::string& feed_url);
  StoreResult<void> forget_feed(const std::string& feed_url, InParts& parts);
  /// The channels that contain each feed, sorted.
  StoreResult<std::vector<std::vector<std::string>>> holding(std::span<const std::string> feed_urls);

  /// Selects a channel's posts.
  enum class Of {
    unread,
    all  ///< read or not; includes at least the newest 1000
  };
  /// Positions of a channel's posts, newest first, at most `limit`, after `before` if given. Error `refused` for `all`
  /// while the channel, from an older release, has no index yet.
  StoreResult<std::optional<std::vector<EntryCursor>>> places(const std::string& uid, Of which, std::size_t limit,
                                                              const std::optional<EntryCursor>& before = {});
  /// Positions of one feed's posts in a channel, like places(), but of Of::all every stored post. Examines 1,000 posts.
  /// None if the channel does not contain the feed.
  StoreResult<FeedPlaces> places_of(const Membership& membership, Of which, std::size_t limit,
                                    const std::optional<EntryCursor>& before = {});
  /// Whether the index of all posts is complete: it is for every channel that a current worker has delivered to.
  StoreResult<bool> is_built(const std::string& uid);
  /// The posts at places() of Of::unread and of Of::all.
  StoreResult<std::optional<std::vector<StoredEntry>>> timeline(const std::string& uid, std::size_t limit,
                                                                const std::optional<EntryCursor>& before = {});
  StoreResult<std::optional<std::vector<StoredEntry>>> posts(const std::string& uid, std::size_t limit,
                                                             const std::optional<EntryCursor>& before = {});
  /// The oldest position among all posts of the channel that is not after `cursor`, so that the same posts follow both,
  /// even if the post of `cursor` was trimmed. Absent: all posts follow it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& uid, const EntryCursor& cursor);
  /// For each post whether it is unread; false also if it is in no feed of the channel.
  StoreResult<std::vector<bool>> are_unread(const std::string& uid, std::span<const std::string> ids);
  /// Number of unread posts of each feed in the channel. Linear in the posts of the feeds.
  StoreResult<std::vector<std::uint64_t>> unread_of(const std::string& uid, std::span<const std::string> feed_urls);
  /// Marks posts; returns how many changed. Posts of feeds outside the channel are ignored.
  StoreResult<std::optional<std::size_t>> mark_read(const std::string& uid, std::span<const std::string> ids);
  StoreResult<std::optional<std::size_t>> mark_unread(const std::string& uid, std::span<const std::string> ids);
  /// Marks all posts read that are in the timeline at this moment.
  StoreResult<std::optional<std::size_t>> mark_all_read(const std::string& uid);
  /// mark_all_read() in two steps: the highest score in the timeline, and marking the posts up to it, in parts.
  /// `place`: a score, or "SCORE:ID" of the newest post to mark. `feed_url`: only this feed's posts; "" = all.
  StoreResult<std::string> highest_score(const std::string& uid);
  StoreResult<std::optional<std::size_t>> mark_read_up_to(const std::string& uid, const std::string& place,
                                                          const std::string& feed_url, InParts& parts);

  /// Channels without a complete index of all posts: from an older release, or not rebuilt yet.
  StoreResult<std::vector<std::string>> unbuilt();
  /// Rebuilds timeline and index from the feeds and keeps read marks (RELIABILITY L13). `step` is called between
  /// bounded steps; false aborts.
  StoreResult<void> rebuild(const std::string& uid, const std::function<bool()>& step);
  /// Removes read marks of posts that were removed more than `grace` ago; at most 500 per call. Returns how many.
  StoreResult<std::size_t> expire_marks(Milliseconds grace = std::chrono::hours(24 * 7));

 private:
  /// `makes_channels`: create missing channels.
  StoreResult<std::vector<std::optional<bool>>> put_in(std::span<const Membership> memberships, bool makes_channels);
  /// `only_gone`: skip the feed if it is registered.
  StoreResult<std::optional<bool>> take_out(const Membership& membership, bool only_gone, InParts& parts);
  StoreResult<std::optional<std::size_t>> mark(const std::string& uid, std::string_view how,
                                               std::span<const std::string> rest);
  StoreResult<void> prune(const std::string& uid, InParts& parts);
  StoreResult<bool> exists(const std::string& uid);
  StoreResult<void> mark_index(const std::string& uid, std::string_view how);
  StoreResult<std::optional<std::vector<StoredEntry>>> page(const std::string& uid, Of which, std::size_t limit,
                                                            const std::optional<EntryCursor>& before);

  Store::Impl& impl_;
};

}  // namespace feedmill
