// A trouble of the store in words, and what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "storage/store/store.hpp"

namespace feedmill {

/// Why a verb ends early: its exit code, and one line for people, "" when they have been told. Verbs throw it.
struct VerbFailure {
  int exit = 0;
  std::string text;
};

/// For a server that has as much data as it may have. No semicolon: failure_of() puts one before it.
inline constexpr std::string_view remedy_of_full_server =
    "raise its maxmemory (for a private server, MemoryMax= or the container's limit), or keep fewer entries "
    "(retention.entries)";

/// The exit code that fits an error of the store, and what to do about it (OPERATIONS §1, RELIABILITY §11).
VerbFailure failure_of(const StoreError& error);

}  // namespace feedmill
