// doctor: what stands in the way of a healthy deployment, each with a remedy.
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

/// Checks one thing after the other and tells each; exit 1 when any fails.
int run_verb(const DoctorVerb& verb, const Config& config, Terminal& terminal);

}  // namespace feedmill
