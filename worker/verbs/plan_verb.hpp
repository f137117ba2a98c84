// `plan`: simulates days of the schedule (HTTP E3).
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/plan.hpp"

namespace feedmill {

/// Simulation options from the configuration, starting at `start`.
PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days);

}  // namespace feedmill
