// feedmill verify: the invariants of the store, and mending them.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Exit 0: every invariant holds (now: what did not hold is repaired); 1: some do not.
int run_verb(const VerifyVerb& verb, const VerbContext& context);

}  // namespace feedmill
