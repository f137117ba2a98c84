// `feedmill entries`, `entry`: stored posts (DESIGN §3.2).
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const EntriesVerb& verb, const VerbContext& context);
int carry_out(const EntryVerb& verb, const VerbContext& context);

}  // namespace feedmill
