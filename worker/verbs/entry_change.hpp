// `feedmill entry put`, `entry remove`, `expire`: what an operator does to stored posts (DESIGN §3.2).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int carry_out(const EntryPutVerb& verb, const VerbContext& context);
int carry_out(const EntryRemoveVerb& verb, const VerbContext& context);
int carry_out(const ExpireVerb& verb, const VerbContext& context);

}  // namespace feedmill
