// Checks a feed's settings against the configuration.
#pragma once

#include <string>

#include "worker/config/config.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// Checks the settings that differ from `before` against the configuration: names of [feed_auth] (not of logins, which
/// are in the store) and [egress.policy], permission to use a proxy, and intervals below least_interval if nothing is
/// opened by `allow`. Returns the problem and the existing names, or "". Pure.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

}  // namespace feedmill
