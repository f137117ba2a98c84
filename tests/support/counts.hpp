// How often a thing is tried that is done at random, or at every place.
#pragma once

#include <cstdlib>

namespace feedmill::test {

/// FEEDMILL_LONG_TESTS=1, which scripts/test --full hands on to the tests of kills and cuts.
inline bool is_long_run() {
  return std::getenv("FEEDMILL_LONG_TESTS") != nullptr;
}

/// `always` with each run of the tests, `full` with scripts/test --full, `longest` in a long run.
inline int tries(int always, int full, int longest) {
  if (is_long_run()) return longest;
  return std::getenv("FEEDMILL_FULL_TESTS") != nullptr ? full : always;
}

}  // namespace feedmill::test
