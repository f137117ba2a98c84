// `feedmill config show`, `--version`: about the program itself.
#pragma once

#include <boost/json/object.hpp>

#include "worker/cli.hpp"
#include "worker/config.hpp"
#include "worker/terminal.hpp"

namespace feedmill {

int carry_out(const ConfigShowVerb& verb, const Config& config, Terminal& terminal);
int carry_out(const VersionVerb& verb, Terminal& terminal);

}  // namespace feedmill
