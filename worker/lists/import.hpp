// Imports a subscription list into the store, part by part (OPERATIONS §9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "storage/records/feed_record.hpp"
#include "storage/store/store.hpp"
#include "worker/lists/subscriptions.hpp"

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

}  // namespace feedmill
