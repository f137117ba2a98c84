// `feedmill entry put`, `entry remove`, `expire`: what an operator does to stored posts (DESIGN §3.2).
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const EntryPutVerb& verb, const VerbContext& context);
int carry_out(const EntryRemoveVerb& verb, const VerbContext& context);
int carry_out(const ExpireVerb& verb, const VerbContext& context);

}  // namespace feedmill
