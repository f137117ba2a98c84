// Outputs of single verbs, for other verbs and for tests.
#pragma once

#include <string>

#include "storage/records/stream_records.hpp"
#include "worker/base/terminal.hpp"
#include "worker/config/config.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/plan.hpp"

namespace feedmill {

/// Answers a request of `parse --pipe`: {"argv":[…]} gets {"rc":…,"out":…,"err":…}, without a final newline.
std::string answer_request(const std::string& request);

// `feedmill tail`: prints events as they arrive, without gaps (DESIGN §4).

/// An event as one line of text: time, type, feed or post.
std::string signal_line(const EventRecord& record);

/// An event as JSON: the record's object with `schema` first.
std::string signal_json(const EventRecord& record);

// `plan`: simulates days of the schedule (HTTP E1).

/// Simulation options from the configuration, starting at `start`.
PlanOptions plan_options(const Config& config, Milliseconds start, unsigned days);

}  // namespace feedmill
