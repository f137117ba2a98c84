// `feedmill stats`: figures of the fleet.
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/commands/store.hpp"

namespace feedmill {

int carry_out(const StatsVerb& verb, const VerbContext& context);

}  // namespace feedmill
