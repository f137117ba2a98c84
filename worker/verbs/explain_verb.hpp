// explain: why a feed is due when it is (HTTP E2).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Reads the feed's record and its host's state, and writes nothing. Exit 1 when there is no such feed.
int run_verb(const ExplainVerb& verb, const VerbContext& context);

}  // namespace feedmill
