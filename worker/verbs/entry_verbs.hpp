// `feedmill entries`, `entry`: stored posts (DESIGN §3.2).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const EntriesVerb& verb, const VerbContext& context);
int run_verb(const EntryVerb& verb, const VerbContext& context);

}  // namespace feedmill
