// Entry points to the worker for verbs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "worker/base/report.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

class TraceText;

/// Runs the worker until it is stopped; with `once`, refreshes each feed due at the start once and ends. `sources`:
/// where `config` was read from; SIGHUP reads it again. Returns the exit code.
int run(const Config& config, const ConfigSources& sources, bool once);

/// Refreshes these feeds in this process, whether due or not, with the limits per host but without pacing. Calls `tell`
/// after each refresh, on the calling thread, and `trace`, if set, at each step. Meant for when no worker is running.
/// Returns the exit code.
int refresh_in_process(const Config& config, const std::vector<std::string>& feed_urls,
                       std::function<void(const Report&)> tell, TraceText* trace = nullptr);

}  // namespace feedmill
