// `feedmill stats`: figures of the fleet.
#pragma once

#include "worker/cli.hpp"
#include "worker/commands_store.hpp"

namespace feedmill {

int carry_out(const StatsVerb& verb, const VerbContext& context);

}  // namespace feedmill
