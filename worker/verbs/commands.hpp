// Runs verbs: from a command line to an exit code.
#pragma once

#include <functional>

#include "worker/base/terminal.hpp"
#include "worker/cli/cli.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Runs the verb; reads the configuration and opens the store if the verb needs them. Prints errors on stderr, one line
/// each. Returns the exit code; throws Interrupted and OutputClosed.
int run_command(const CommandLine& line, Terminal& terminal);

/// Prints requested help on stdout, errors and other help on stderr. Returns the exit code.
int tell(const NoCommand& nothing, Terminal& terminal);

/// Calls `work` for each partition of the named feeds and entries with its share of the values, or for every partition
/// if the verb is_of_each(). Otherwise calls it once with `config` unchanged, so that the store rejects an unnamed
/// partition. Returns the highest exit code. Throws VerbFailure.
int in_partitions(const VerbRow& verb, const OperationValues& given, const Config& config, Terminal& terminal,
                  const std::function<int(const OperationValues& share, const Config& config)>& work);

}  // namespace feedmill
