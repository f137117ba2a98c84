// Lists of entries in pages, for the verbs that print them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/stored_entry.hpp"
#include "worker/base/terminal.hpp"
#include "worker/cli/verb.hpp"

namespace feedmill {

/// Returns the next entries, at most `most`, after `before`; fewer at the end.
using EntryPages = std::function<std::vector<StoredEntry>(std::size_t most, const std::optional<EntryCursor>& before)>;

/// Returns which of these entries to show.
using EntryFilter = std::function<std::vector<bool>(const std::vector<StoredEntry>&)>;

namespace fields {

// Fields of a page of entries.
inline constexpr OperationField limit = number("--limit", "N", "At most N (20)", 1, 1'000'000);
inline constexpr OperationField before =
    option("--before", "SCORE:ID", "Only entries after this one in the order: SCORE:ID as printed on the last line",
           OperationField::Kind::place);

}  // namespace fields

/// Columns of lists of entries.
inline constexpr std::array<Columns::Column, 4> entry_columns{
    {{"time", 20}, {"id", 14}, {"title", 0}, {"link", 0, false, Columns::never}}};

/// Prints entries of `pages` as limited by the fields `limit` and `before`, and finally how to continue: `words`,
/// the flags of the list and --before.
void tell_entries(const OperationValues& given, const std::string& words, Terminal& terminal, const EntryPages& pages,
                  const EntryFilter& filter = {});

}  // namespace feedmill
