// Describes errors of the store and their remedies.
#pragma once

#include <string>
#include <string_view>

#include "storage/store/store.hpp"

namespace feedmill {

/// Why a verb ends early: its exit code, and one line for people, "" if already reported. Verbs throw it.
struct VerbFailure {
  int exit = 0;
  std::string text;
};

/// For a server that has reached its data limit. No semicolon: failure_of() prepends one.
inline constexpr std::string_view remedy_of_full_server =
    "raise its maxmemory (for a private server, MemoryMax= or the container's limit), or keep fewer entries "
    "(retention.entries)";

/// The exit code and the remedy for an error of the store (OPERATIONS §1, RELIABILITY §11).
VerbFailure failure_of(const StoreError& error);

}  // namespace feedmill
