// Imports subscription lists into a store and exports them, part by part (OPERATIONS §9, O6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/fleet_records.hpp"
#include "storage/store/store.hpp"
#include "worker/operations/subscriptions.hpp"

namespace feedmill {

/// Consecutive feeds of a list.
struct SubscriptionBatch {
  using Place = std::deque<Subscription>::const_iterator;

  Place first, last;

  Place begin() const { return first; }
  Place end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

/// The next batch of a list. Data derived from a batch should only live while it is processed (SECURITY M2).
SubscriptionBatch next_batch(const std::deque<Subscription>& feeds, std::size_t begin);

/// Moves the feeds of this partition from `list` to the result (RELIABILITY L27).
SubscriptionList share_of(const Store& store, SubscriptionList& list);

/// Adds the feeds of a batch of `list`; true for each new feed. Spreads the first fetches at `rate` feeds a second (0 =
/// no spreading). `added`: number of feeds already added by this import. Feeds in folders are kept only while they are
/// in a channel. Throws StoreFailure.
std::vector<bool> add_batch(Store& store, const SubscriptionBatch& batch, const SubscriptionList& list,
                            std::size_t added, std::uint64_t rate);

/// The channel names of these feeds' folders, without duplicates, in document order. `user`: owner of the channels, ""
/// = none.
std::vector<std::string> channels_in(const SubscriptionBatch& batch, std::string_view user);

/// Puts the feeds, new or not, into the channels of their folders. A channel without a title of its own for a feed gets
/// the list's, unless it is that of the feed itself (OPERATIONS §9). Throws StoreFailure.
void put_into_channels(Store& store, const SubscriptionBatch& batch, std::string_view user);

// Exports the feeds of a store as OPML, part by part (OPERATIONS O6).

/// Writes OPML of all feeds, or of one user's channels, sorted by channel and feed: first each channel as a folder,
/// then, without a user, the feeds without a channel. Contains every feed that exists throughout the export. Holds one
/// page of names and a few feeds in memory.
class Export {
 public:
  /// `user`: export only this user's channels, with names without USER/; "" = all. `stores`: number of partitions.
  explicit Export(std::string user, std::size_t stores = 1);

  /// Takes a bounded step on the store with index at(), and returns the next part, which may be empty. Must not be
  /// called after ended(). Throws StoreFailure.
  std::string next(Store& store);
  /// The index of the store for the next step.
  std::size_t at() const { return at_; }
  bool ended() const { return stage_ == Stage::ended; }

 private:
  enum class Stage { head, channels, rest, ended };
  /// A sorted list of names, with one page of it held in memory.
  struct Names {
    std::vector<std::string> held;  // in reverse order: the next name is last
    std::string after;
    bool all = false;
  };

  /// Reads the next page if none is held and there are more. `more` returns up to `at_once` names after a name.
  template <class More>
  static void hold(Names& names, std::size_t at_once, More more);
  /// Takes the next few names; none at the end.
  template <class More>
  static std::vector<std::string> take(Names& names, std::size_t most, std::size_t at_once, More more);
  void choose_channel(Store& store);
  void write_channel(Store& store);
  void write_rest(Store& store);
  void end();

  std::string user_;
  std::size_t at_ = 0;
  Stage stage_ = Stage::head;
  std::vector<Names> channels_;         // for each store
  std::optional<std::string> channel_;  // the channel being written
  std::vector<std::size_t> holders_;    // stores with feeds of `channel_`, the first one last
  Names feeds_;                         // feeds of `channel_` in a store, then of a whole store
  std::optional<SubscriptionsWriter> writer_;
};

}  // namespace feedmill
