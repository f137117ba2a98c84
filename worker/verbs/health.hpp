// health: ask the worker that runs on this machine.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Asks the admin listener for /livez, or /readyz; exit 0 when it says yes, 1 when it says no or does not answer.
int run_verb(const HealthVerb& verb, const Config& config, Terminal& terminal);

}  // namespace feedmill
