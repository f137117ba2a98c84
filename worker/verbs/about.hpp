// `feedmill config show` and `check`, `completion`, `man`, `--version`: about the program itself.
#pragma once

#include <boost/json/object.hpp>

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

int carry_out(const ConfigShowVerb& verb, const Config& config, Terminal& terminal);
/// Exit 1 when the configuration is refused; its problems are the data.
int carry_out(const ConfigCheckVerb& verb, const ConfigSources& sources, Terminal& terminal);
int carry_out(const VersionVerb& verb, Terminal& terminal);
int carry_out(const CompletionVerb& verb, Terminal& terminal);
int carry_out(const ManVerb& verb, Terminal& terminal);

}  // namespace feedmill
