// Subscription lists into the store and out of it, part by part (OPERATIONS §9, O6).
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

/// The next batch; data derived from it lives only while it is processed (SECURITY M2).
SubscriptionBatch next_batch(const std::deque<Subscription>& feeds, std::size_t begin);

/// Moves the feeds of this partition out of `list` (RELIABILITY L27).
SubscriptionList share_of(const Store& store, SubscriptionList& list);

/// Adds feeds of `list`; true for each new one. Spreads first fetches at `rate` feeds a second (0 = no spreading);
/// `added`: feeds of this import before the batch. Feeds in folders are kept only while a channel has them.
StoreResult<std::vector<bool>> add_batch(Store& store, const SubscriptionBatch& batch, const SubscriptionList& list,
                                         std::size_t added, std::uint64_t rate);

/// Channel names of these feeds' folders, without duplicates, in document order. `user`: owner of the channels, "" =
/// none.
std::vector<std::string> channels_in(const SubscriptionBatch& batch, std::string_view user);

/// Puts the feeds, new or not, into the channels of their folders.
StoreResult<void> put_into_channels(Store& store, const SubscriptionBatch& batch, std::string_view user);

// Exports a store's feeds as OPML, part by part (OPERATIONS O6).

/// OPML of all feeds, or of a user's channels, sorted by channel and feed: first each channel as a folder, then,
/// without a user, the feeds without a channel. Contains every feed that exists throughout. Holds one page of names and
/// a few feeds.
class Export {
 public:
  /// `user`: whose channels, named without USER/; "" = all. `stores`: number of stores: the deployment's partitions.
  explicit Export(std::string user, std::size_t stores = 1);

  /// The next part; may be empty. A bounded step on the store at(). Must not be called after ended().
  StoreResult<std::string> next(Store& store);
  /// Index of the store for the next step.
  std::size_t at() const { return at_; }
  bool ended() const { return stage_ == Stage::ended; }

 private:
  enum class Stage { head, channels, rest, ended };
  /// A sorted list of names, of which one page is held.
  struct Names {
    std::vector<std::string> held;  // the next one last
    std::string after;
    bool all = false;
  };

  /// Fetches the next page if none is held and more exist. `more` returns `at_once` names after a name.
  template <class More>
  static StoreResult<void> hold(Names& names, std::size_t at_once, More more);
  /// Takes the next few names; empty at the end.
  template <class More>
  static StoreResult<std::vector<std::string>> take(Names& names, std::size_t most, std::size_t at_once, More more);
  StoreResult<void> choose_channel(Store& store);
  StoreResult<void> write_channel(Store& store);
  StoreResult<void> write_rest(Store& store);
  void end();

  std::string user_;
  std::size_t at_ = 0;
  Stage stage_ = Stage::head;
  std::vector<Names> channels_;         // per store
  std::optional<std::string> channel_;  // the channel in progress
  std::vector<std::size_t> holders_;    // stores with feeds of it, the first last
  Names feeds_;                         // of `channel_` in a store, then of the whole store
  std::optional<SubscriptionsWriter> writer_;
};

}  // namespace feedmill
