// `feedmill stats`: figures of the fleet.
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

int run_verb(const StatsVerb& verb, const VerbContext& context);

}  // namespace feedmill
