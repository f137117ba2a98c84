// `feedmill refresh`: feeds fetched now, by the worker that runs or in this process (HTTP P22, RELIABILITY L10).
#pragma once

#include <string>
#include <vector>

#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Fetches registered feeds and shows the results. Those in `just_added` are due since they were added and are not
/// woken: their first fetch is the one that is asked for, even when a worker has begun or finished it by now.
int refresh_added(const std::vector<std::string>& feed_urls, const std::vector<std::string>& just_added,
                  const VerbContext& context);

}  // namespace feedmill
