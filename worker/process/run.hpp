// What verbs ask of the worker itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "worker/base/report.hpp"
#include "worker/config/config.hpp"

namespace feedmill {

class RefreshTrace;

/// The worker, until it is told to stop; `once`: every feed that is due at its start once. `sources`: where `config`
/// was read from, and is read again on SIGHUP. Returns the exit code.
int run(const Config& config, const ConfigSources& sources, bool once);

/// Refreshes these feeds in this process, due or not, with the limits per host but without pacing; `tell` is called for
/// each on the calling thread, `trace`, when there is one, at each step. For when no worker lives. Returns the exit
/// code.
int refresh_in_process(const Config& config, const std::vector<std::string>& feed_urls,
                       std::function<void(const Report&)> tell, RefreshTrace* trace = nullptr);

}  // namespace feedmill
