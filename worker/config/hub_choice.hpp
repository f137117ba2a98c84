// The hub a feed is subscribed to: its operator's, else the one in its newest document (WEBSUB §2). Pure.
#pragma once

#include <string_view>

#include "storage/records/feed_state.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// The advertised hubs, with the operator's settings applied. A `hub` without a `topic` gets the document's self link,
/// else the feed's URL.
HubAdvert chosen_hubs(const FeedSettings& settings, const FeedState& state, std::string_view feed_url);

/// Whether to subscribe to a hub. `hubs`: chosen_hubs() of the feed.
bool wants_hub(const FeedSettings& settings, const HubAdvert& hubs);

/// Whether the changed settings require an update of the subscription.
bool changes_hub(const FeedSettings& before, const FeedSettings& after);

}  // namespace feedmill
