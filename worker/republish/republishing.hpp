// Whether others may be shown what a feed says (WEBSUB U15): asked wherever posts leave the store for strangers, be it
// as documents, by a webhook or on a live stream.
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
  bool registered = true;  ///< false: there is no such feed (any more)
  std::string why_not;     ///< for people, who may set it otherwise; "" when it is allowed. Holds no secret

  bool operator==(const Republishing&) const = default;
};

/// What the feed's record says, `republish=yes` or `no`, decides. Without a word of it only what anybody could fetch is
/// allowed: not what took credentials, headers or a policy of the operator's, what `egress.allow` has opened, what has
/// a secret in its address, nor what nobody knows the origin of because it was not fetched since that is noted. Pure.
Republishing republishing_of(const std::string& feed_url, const FeedState& state);
Republishing republishing_of(const FeedRecord& feed);

/// Whether others may be told of an event: as `feed` says, which was read of its feed, or once that is removed, as the
/// event itself does that tells of it.
bool may_be_told(const Event& event, const Republishing& feed);

/// The same of each, in the order given; what is not registered is not allowed. Blocking.
StoreResult<std::vector<Republishing>> read_republishing(Store& store, std::span<const std::string> feed_urls);

}  // namespace feedmill
