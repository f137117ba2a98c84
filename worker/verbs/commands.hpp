// The verbs: from a command line to an exit code.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"

namespace feedmill {

/// Carries out what the command line asks for: reads the configuration and opens the store for the verbs that need
/// them. Errors are told on stderr, one line each. Returns the exit code; throws Interrupted and OutputClosed.
int run_verb(const CommandLine& line, Terminal& terminal);

/// Help on stdout when it was asked for, else on stderr; what is wrong on stderr. Returns the exit code.
int tell(const NoCommand& nothing, Terminal& terminal);

}  // namespace feedmill
