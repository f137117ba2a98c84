// A trouble of the store in words, and what to do about it.
#pragma once

#include <string>

#include "storage/store.hpp"

namespace feedmill {

/// Why a verb ends early: its exit code, and one line for people.
struct VerbFailure {
  int exit = 0;
  std::string text;
};

/// The exit code that fits an error of the store, and what to do about it (OPERATIONS §1, RELIABILITY §11).
VerbFailure failure_of(const StoreError& error);

}  // namespace feedmill
