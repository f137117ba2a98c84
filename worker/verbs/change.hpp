// `feedmill set`, `pause`, `resume`: what holds for a feed, and whether it is fetched at all.
#pragma once

#include <string>

#include "worker/config/feed_settings.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// What of `settings` that was not in `before` the configuration does not have: names of [feed_auth] and
/// [egress.policy], leave to use a proxy. Says what there is instead, "" when all is well.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

}  // namespace feedmill
