// `feedmill add --dry-run`: a preview of the feeds to add.
#pragma once

#include <vector>

#include "worker/command_line/feed_verbs.hpp"
#include "worker/verbs/discover_verb.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Prints for each feed whether it exists, whether the egress policy allows it, its host's limits and its settings.
/// Resolves names and writes nothing. Returns the exit code that `add` would return.
int preview(const AddVerb& verb, const std::vector<FeedBehind>& feeds, const VerbContext& context);

}  // namespace feedmill
