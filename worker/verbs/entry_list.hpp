// Lists of entries, a page at a time.
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

/// The next entries, at most so many; fewer are the last.
using EntryPages = std::function<std::vector<StoredEntry>(std::size_t most, const std::optional<EntryCursor>& before)>;

/// Which of these are shown.
using EntryFilter = std::function<std::vector<bool>(const std::vector<StoredEntry>&)>;

/// Shows what is asked for of `pages`, and at the end how to go on: `words` and --before.
void tell_entries(const EntryPage& asked_for, const std::string& words, Terminal& terminal, const EntryPages& pages,
                  const EntryFilter& filter = {});

}  // namespace feedmill
