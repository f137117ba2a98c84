// `feedmill add --dry-run`: what would be added, and what would become of it.
#pragma once

#include <vector>

#include "worker/command_line/feed_verbs.hpp"
#include "worker/verbs/discover_verb.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Tells of each feed whether it is there already, whether the egress policy lets it be fetched, what its host's limits
/// and its settings would be. Looks names up and writes nothing. Returns the exit code `add` would have.
int preview(const AddVerb& verb, const std::vector<FeedBehind>& feeds, const VerbContext& context);

}  // namespace feedmill
