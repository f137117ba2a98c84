// plan: days of the schedule in virtual time (HTTP E3).
#pragma once

#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/plan.hpp"

namespace feedmill {

/// The simulation's options as the configuration says them, from `start` on.
PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days);

}  // namespace feedmill
