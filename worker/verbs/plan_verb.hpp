// plan: days of the schedule in virtual time (HTTP E3).
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/command_line/cli.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/plan.hpp"

namespace feedmill {

/// Simulates the stored schedule, made-up feeds, or those of a file; reads only, and Redis only for the first.
int run_verb(const PlanVerb& verb, const Config& config, Terminal& terminal);

/// The simulation's options as the configuration says them, from `start` on.
PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days);

}  // namespace feedmill
