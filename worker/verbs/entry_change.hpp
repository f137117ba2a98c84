// `feedmill entry put`, `entry remove`, `expire`: what an operator does to stored posts (DESIGN §3.2).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const EntryPutVerb& verb, const VerbContext& context);
int run_verb(const EntryRemoveVerb& verb, const VerbContext& context);
int run_verb(const ExpireVerb& verb, const VerbContext& context);

}  // namespace feedmill
