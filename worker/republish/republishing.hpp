// Whether a feed's posts may be shown to others (WEBSUB U15): checked wherever posts leave the store, in documents,
// webhooks and live streams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/records/event_record.hpp"
#include "storage/records/feed_record.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/store/store.hpp"

namespace feedmill {

struct Republishing {
  bool allowed = false;
  bool registered = true;  ///< false: the feed does not exist
  std::string why_not;     ///< reason for operators, who may override it; "" if allowed. Holds no secrets

  bool operator==(const Republishing&) const = default;
};

/// `republish=yes` or `no` in the feed's record decides. Without it only public feeds are allowed: no credentials,
/// custom headers or policy, not opened by `egress.allow`, no secret in the URL, and fetched since its origin is
/// recorded. Pure.
Republishing republishing_of(const std::string& feed_url, const FeedState& state);
Republishing republishing_of(const FeedRecord& feed);

/// Whether an event may leave: by its feed's record `feed`, or after the feed's removal by the event's own field.
bool may_be_told(const Event& event, const Republishing& feed);

/// republishing_of() each feed, in order; unregistered feeds are not allowed. Blocking.
StoreResult<std::vector<Republishing>> read_republishing(Store& store, std::span<const std::string> feed_urls);

}  // namespace feedmill
