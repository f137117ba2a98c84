// Which hub a feed is subscribed to: its operator's, else the one that its newest document names (WEBSUB §2). Pure.
#pragma once

#include <string_view>

#include "storage/records/feed_state.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// As if the document had said what is set. A `hub` without a `topic` is asked for what the document calls itself, else
/// for the feed's address.
HubAdvert chosen_hubs(const FeedSettings& settings, const FeedState& state, std::string_view feed_url);

/// Whether one of them is to be subscribed to. `hubs`: chosen_hubs() of the feed.
bool wants_hub(const FeedSettings& settings, const HubAdvert& hubs);

/// Whether the subscription is to be looked after because of what was set.
bool changes_hub(const FeedSettings& before, const FeedSettings& after);

}  // namespace feedmill
