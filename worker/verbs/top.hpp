// `feedmill top`: a running worker, watched.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Asks the admin listener for /status.json and shows it: live on a terminal until `q`, once elsewhere; with --json as
/// it stands. Exit 1 when no worker answers at first; later it is waited for. Throws Interrupted on Ctrl-C.
int run_verb(const TopVerb& verb, const Config& config, Terminal& terminal);

}  // namespace feedmill
