// `feedmill add --dry-run`: a preview of the feeds to add.
#pragma once

#include <string>
#include <vector>

#include "worker/config/feed_settings.hpp"
#include "worker/verbs/discover_verb.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Prints for each feed, to which one of `arguments` led, whether it exists, whether the egress policy allows it, its
/// host's limits and its settings. Resolves names and writes nothing. Returns the exit code that `add` would return.
int preview(const std::vector<std::string>& arguments, const FeedSettings& wanted, const std::vector<FeedBehind>& feeds,
            const VerbContext& context);

}  // namespace feedmill
