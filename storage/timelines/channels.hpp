// Channels: named timelines gathered from feeds, for one user or all (DESIGN §3). The keys are keys.hpp's.
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

/// What is wrong with the name of a channel or user, "" when nothing: 1 to 1024 bytes without control characters. What
/// stands under such a name may always be read and removed.
std::string_view unfit_name(std::string_view name);
/// The same of a name that goes into the store: JSON and OPML tell it, so that it is UTF-8 besides.
std::string_view unfit_text_name(std::string_view name);
/// The same of a channel that is made: it is not blank, nor is a half of USER/NAME.
std::string_view unfit_new_channel(std::string_view uid);
/// The same of a user whose channels are made: USER/NAME is a channel, so that there is no slash in it.
std::string_view unfit_new_user(std::string_view user);

/// What is known of a channel.
struct ChannelRecord {
  std::string uid;            ///< may be <user>/<channel>
  std::int64_t position = 0;  ///< in the sort order; of equals the uid decides
  std::uint64_t feeds = 0;
  std::uint64_t unread = 0;  ///< what stands in the timeline: a read post leaves it
};

struct Membership {
  std::string uid, feed_url;
};

/// The channels of one store, over a Store's connection. Where a channel does not exist the value is absent.
/// Calls are bounded by what is stored for one feed or, where they go in steps, are resumable by calling again.
class Channels {
 public:
  /// `store` outlives this.
  explicit Channels(Store& store) : impl_(store.impl()) {}

  /// Creates channels at the end of the order; true where it was new. Names must be fit.
  StoreResult<std::vector<bool>> add(std::span<const std::string> uids);
  /// Deletes a channel with everything kept for it, rules that watch it included; false when it was unknown.
  StoreResult<bool> remove(const std::string& uid);
  /// All channels in their order.
  StoreResult<std::vector<ChannelRecord>> list();
  /// The first `most` names behind `after` in their order that begin with `beginning`, as Feeds::urls_after().
  StoreResult<std::vector<std::string>> names_after(const std::string& after, std::size_t most,
                                                    const std::string& beginning);
  /// What is known of each, in the order given; zeros of what is not there.
  StoreResult<std::vector<ChannelRecord>> records(std::span<const std::string> uids);
  StoreResult<bool> is_known(const std::string& uid);
  /// Numbers channels in the order given, 1000 at a time: when it is interrupted, call it again.
  StoreResult<void> order(std::span<const std::string> uids);
  /// Deals the places of these channels out among them in the order given; false, and nothing is changed, where one of
  /// them is not there. Each is named once.
  StoreResult<bool> order_among(std::span<const std::string> uids);

  /// The feeds of a channel, sorted.
  StoreResult<std::optional<std::vector<std::string>>> feeds(const std::string& uid);
  /// The first `most` of them behind `after`, as Feeds::urls_after().
  StoreResult<std::vector<std::string>> feeds_after(const std::string& uid, const std::string& after, std::size_t most);
  /// Which of these are feeds of a channel, in the order given.
  StoreResult<std::vector<bool>> holds(const std::string& uid, std::span<const std::string> feed_urls);
  /// Puts feeds into channels, their posts into the timelines; true where the feed was new to the channel. Absent also
  /// where there is no such feed. In a partition a channel is made that is not there (RELIABILITY L31).
  StoreResult<std::vector<std::optional<bool>>> follow(std::span<const Membership> memberships);
  /// Takes a feed and its posts out of a channel; false when it was not in it.
  StoreResult<std::optional<bool>> unfollow(const Membership& membership);
  StoreResult<std::optional<bool>> unfollow(const Membership& membership, InParts& parts);
  /// Takes what is no feed any more out of every channel.
  StoreResult<void> forget_feed(const std::string& feed_url);
  StoreResult<void> forget_feed(const std::string& feed_url, InParts& parts);
  /// The channels that hold each feed, sorted.
  StoreResult<std::vector<std::vector<std::string>>> holding(std::span<const std::string> feed_urls);

  /// Which of a channel's posts are meant.
  enum class Of {
    unread,
    all  ///< read or not: at least the newest 1000, where there are so many
  };
  /// Where the posts of a channel stand, newest first, at most `limit`, after `before` when given. Error `refused`
  /// where all are meant, while the channel is of an older store and its index is not built yet.
  StoreResult<std::optional<std::vector<EntryCursor>>> places(const std::string& uid, Of which, std::size_t limit,
                                                              const std::optional<EntryCursor>& before = {});
  /// The posts themselves.
  StoreResult<std::optional<std::vector<StoredEntry>>> timeline(const std::string& uid, std::size_t limit,
                                                                const std::optional<EntryCursor>& before = {});
  StoreResult<std::optional<std::vector<StoredEntry>>> posts(const std::string& uid, std::size_t limit,
                                                             const std::optional<EntryCursor>& before = {});
  /// The oldest place among all posts of the channel that is not after `cursor`. The same posts follow both, even where
  /// the post that `cursor` names was trimmed. Absent: all posts are after it.
  StoreResult<std::optional<EntryCursor>> place_at(const std::string& uid, const EntryCursor& cursor);
  /// Marks posts; returns how many changed. What is of no feed of the channel is left alone.
  StoreResult<std::optional<std::size_t>> mark_read(const std::string& uid, std::span<const std::string> ids);
  StoreResult<std::optional<std::size_t>> mark_unread(const std::string& uid, std::span<const std::string> ids);
  /// Marks all read that stand in the timeline now.
  StoreResult<std::optional<std::size_t>> mark_all_read(const std::string& uid);
  /// The same in two: the highest score in the timeline, and marking what is not above it, in steps.
  StoreResult<std::string> highest_score(const std::string& uid);
  StoreResult<std::optional<std::size_t>> mark_read_up_to(const std::string& uid, const std::string& score,
                                                          InParts& parts);

  /// Channels whose index of all posts is not built: of an older store, or short of what there is.
  StoreResult<std::vector<std::string>> unbuilt();
  /// Makes timeline and index what the feeds' own say, read marks kept (RELIABILITY L13). `step` is called between
  /// bounded steps; false ends it early.
  StoreResult<void> rebuild(const std::string& uid, const std::function<bool()>& step);
  /// Forgets read marks whose posts went longer than `grace` ago; at most 500 a call. Returns how many.
  StoreResult<std::size_t> expire_marks(Milliseconds grace = std::chrono::hours(24 * 7));

 private:
  /// `makes_channels`: those that are not there.
  StoreResult<std::vector<std::optional<bool>>> put_in(std::span<const Membership> memberships, bool makes_channels);
  /// `only_gone`: unless it is a feed.
  StoreResult<std::optional<bool>> take_out(const Membership& membership, bool only_gone, InParts& parts);
  StoreResult<std::optional<std::size_t>> mark(const std::string& uid, std::string_view how,
                                               std::span<const std::string> rest);
  StoreResult<void> prune(const std::string& uid, InParts& parts);
  StoreResult<bool> exists(const std::string& uid);
  StoreResult<bool> is_built(const std::string& uid);
  StoreResult<void> mark_index(const std::string& uid, std::string_view how);
  StoreResult<std::optional<std::vector<StoredEntry>>> page(const std::string& uid, Of which, std::size_t limit,
                                                            const std::optional<EntryCursor>& before);

  Store::Impl& impl_;
};

}  // namespace feedmill
