// What the standard collectors say of a process, read from /proc (OPERATIONS §3).
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace feedmill {

/// process_cpu_seconds_total, memory, descriptors and start time, as they are now. What /proc does not tell is 0.
std::vector<prometheus::MetricFamily> process_families();

}  // namespace feedmill
