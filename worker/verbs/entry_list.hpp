// Paged lists of entries.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/post_verbs.hpp"

namespace feedmill {

/// Returns the next entries, at most `most`; fewer at the end.
using EntryPages = std::function<std::vector<StoredEntry>(std::size_t most, const std::optional<EntryCursor>& before)>;

/// Returns which of these entries to show.
using EntryFilter = std::function<std::vector<bool>(const std::vector<StoredEntry>&)>;

/// Prints the requested entries of `pages`, and finally how to continue: `words` and --before.
void tell_entries(const EntryPage& asked_for, const std::string& words, Terminal& terminal, const EntryPages& pages,
                  const EntryFilter& filter = {});

}  // namespace feedmill
