// Checks that names in a feed's settings exist.
#pragma once

#include <string>

#include "worker/config/config.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {

/// Checks the settings that differ from `before` against the configuration: names of [feed_auth] and [egress.policy]
/// (not of logins, which are in the store), and permission to use a proxy. Returns the problem and the existing names,
/// or "". Pure.
std::string unusable_names(const Config& config, const FeedSettings& before, const FeedSettings& settings);

}  // namespace feedmill
