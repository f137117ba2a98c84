// Number of repetitions of tests that act at random, or at every possible position.
#pragma once

#include <cstdlib>

namespace feedmill::test {

/// Whether LONG_TESTS is set, which scripts/test --full passes on to the tests of kills and cuts.
inline bool is_long_run() {
  return std::getenv("LONG_TESTS") != nullptr;
}

/// `always` in each test run, `full` with scripts/test --full, `longest` in a long run.
inline int tries(int always, int full, int longest) {
  if (is_long_run()) return longest;
  return std::getenv("FULL_TESTS") != nullptr ? full : always;
}

}  // namespace feedmill::test
