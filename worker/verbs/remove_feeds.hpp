// Removing feeds, for `remove` and `import --prune`.
#pragma once

#include <string>
#include <vector>

#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// Removes feeds with what is stored for them, after a question unless `is_confirmed`; a dry run only prints which.
/// Completes interrupted removals first. Returns the exit code; throws VerbFailure and Interrupted.
int remove_feeds(const std::vector<std::string>& named, bool is_confirmed, bool dry_run, const VerbContext& context);

}  // namespace feedmill
