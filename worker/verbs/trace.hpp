// `feedmill trace`: one refresh of one feed in this process, with every decision (OPERATIONS §1).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Claims the feed, fetches it and stores what it finds, as a worker would, and tells each step. Exit 1 when it may not
/// be fetched now, or another process is at it; 0 whatever the origin answered.
int run_verb(const TraceVerb& verb, const VerbContext& context);

}  // namespace feedmill
