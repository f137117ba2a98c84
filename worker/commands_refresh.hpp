// `feedmill refresh`: feeds fetched now, by the worker that runs or in this process (HTTP P22, RELIABILITY L10).
#pragma once

#include "worker/cli.hpp"
#include "worker/commands_store.hpp"

namespace feedmill {

int carry_out(const RefreshVerb& verb, const VerbContext& context);

}  // namespace feedmill
