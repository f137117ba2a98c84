// Warns of URLs that the egress policy refuses.
#pragma once

#include <string>
#include <vector>

#include "worker/config/feed_settings.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Warns on stderr of URLs that will never be requested, and why: otherwise only the worker's log has it.
/// Resolves at most 20 names, within 2 s; beyond that judges only URLs with an IP address.
void warn_of_refusals(const std::vector<std::string>& urls, const FeedSettings& settings, const VerbContext& context);

}  // namespace feedmill
