// `feedmill refresh`: fetches feeds now, by a running worker or in this process (HTTP P22, RELIABILITY L10).
#pragma once

#include <string>
#include <vector>

#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Fetches registered feeds and prints the results. Feeds in `just_added` are already due and are not woken: their
/// first fetch counts, even if a worker has begun or finished it.
int refresh_added(const std::vector<std::string>& feed_urls, const std::vector<std::string>& just_added,
                  const VerbContext& context);

}  // namespace feedmill
