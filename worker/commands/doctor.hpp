// doctor: what stands in the way of a healthy deployment, each with a remedy.
#pragma once

#include "worker/commands/cli.hpp"
#include "worker/config/config.hpp"
#include "worker/text/terminal.hpp"

namespace feedmill {

/// Checks one thing after the other and tells each; exit 1 when any fails.
int carry_out(const DoctorVerb& verb, const Config& config, Terminal& terminal);

}  // namespace feedmill
