// How often a thing is tried that is done at random, or at every place.
#pragma once

#include <cstdlib>

namespace feedmill::test {

/// LONG_TESTS=1, which scripts/test --full hands on to the tests of kills and cuts.
inline bool is_long_run() {
  return std::getenv("LONG_TESTS") != nullptr;
}

/// `always` with each run of the tests, `full` with scripts/test --full, `longest` in a long run.
inline int tries(int always, int full, int longest) {
  if (is_long_run()) return longest;
  return std::getenv("FULL_TESTS") != nullptr ? full : always;
}

}  // namespace feedmill::test
