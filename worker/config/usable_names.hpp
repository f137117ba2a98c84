// What a feed's settings name has to be there.
#pragma once

#include <string>

#include "worker/config/config.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// What of `settings` that was not in `before` the configuration does not have: names of [feed_auth] and
/// [egress.policy], leave to use a proxy. Says what there is instead, "" when all is well. Pure.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

}  // namespace feedmill
