// `feedmill config show` and `check`, `completion`, `man`, `--version`: about the program itself.
#pragma once

#include <boost/json/object.hpp>

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

int run_verb(const ConfigShowVerb& verb, const Config& config, Terminal& terminal);
/// Exit 1 when the configuration is refused; its problems are the data.
int run_verb(const ConfigCheckVerb& verb, const ConfigSources& sources, Terminal& terminal);
int run_verb(const VersionVerb& verb, Terminal& terminal);
int run_verb(const CompletionVerb& verb, Terminal& terminal);
int run_verb(const ManVerb& verb, Terminal& terminal);

}  // namespace feedmill
