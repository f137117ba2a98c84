// A list of subscriptions put into the store, part by part (OPERATIONS §9).
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

/// Feeds of a list that stand one behind the other.
struct SubscriptionBatch {
  using Place = std::deque<Subscription>::const_iterator;

  Place first, last;

  Place begin() const { return first; }
  Place end() const { return last; }
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

/// The next ones: what is made of them is only there while they are dealt with (SECURITY M2).
SubscriptionBatch next_batch(const std::deque<Subscription>& feeds, std::size_t begin);

/// Takes out of `list` the feeds that belong to this partition (RELIABILITY L27).
SubscriptionList share_of(const Store& store, SubscriptionList& list);

/// Adds feeds of `list`; true where one was new. First fetches are spread at `rate` feeds a second (0 = not), `added`
/// feeds of this import stand before the batch. Those that stand in folders are wanted for channels alone.
StoreResult<std::vector<bool>> add_batch(Store& store, const SubscriptionBatch& batch, const SubscriptionList& list,
                                         std::size_t added, std::uint64_t rate);

/// The channels that the folders of these feeds stand for, each once, in the order in which they come. `user`: whose,
/// "" = of nobody.
std::vector<std::string> channels_in(const SubscriptionBatch& batch, std::string_view user);

/// Puts the feeds into the channels that their folders stand for; also those that were there before.
StoreResult<void> put_into_channels(Store& store, const SubscriptionBatch& batch, std::string_view user);

}  // namespace feedmill
