// Runs verbs: from a command line to an exit code.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"

namespace feedmill {

/// Runs the verb; reads the configuration and opens the store if it needs them. Prints errors on stderr, one line each.
/// Returns the exit code; throws Interrupted and OutputClosed.
int run_command(const CommandLine& line, Terminal& terminal);

/// Prints requested help on stdout, errors and other help on stderr. Returns the exit code.
int tell(const NoCommand& nothing, Terminal& terminal);

}  // namespace feedmill
