// Process metrics of the standard collectors, read from /proc (OPERATIONS §3).
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace feedmill {

/// Current process_cpu_seconds_total, memory, descriptors and start time; 0 if /proc lacks a value.
std::vector<prometheus::MetricFamily> process_families();

}  // namespace feedmill
