// Finds the oldest last success among all feeds, in small steps, again and again.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "storage/store/store.hpp"

namespace feedmill {

/// Walks the index of feeds repeatedly. A step covers about 2,000 feeds, so that it never blocks the store for long; a
/// million feeds take 500 steps.
class StalenessScan {
 public:
  /// Runs a step; blocking. Call only if FleetFigures::is_indexed. At the end of a round, returns the oldest last
  /// success of any healthy feed (OPERATIONS §3), 0 if there is none. Otherwise empty, also if the store fails; the
  /// round then restarts.
  std::optional<Milliseconds> step(Store& store);

 private:
  std::string after_;
  std::optional<Milliseconds> oldest_;
};

}  // namespace feedmill
