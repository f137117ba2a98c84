// A figure for which every feed must be looked at: taken a few feeds at a time, round after round.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "storage/store/store.hpp"

namespace feedmill {

/// One walk over the index of feeds after another. A step looks at about 2,000 feeds, so that it never keeps the store
/// busy for long: as many feeds have a new figure with each step, a million within 500 of them.
class StalenessScan {
 public:
  /// Blocking; only while FleetFigures::is_indexed. The last success of the healthy feed that had none for longest
  /// (OPERATIONS §3), of the round that ends with this step; 0 when there is no healthy feed. Nothing while it is under
  /// way, or when the store fails: then the round begins anew.
  std::optional<Milliseconds> step(Store& store);

 private:
  std::string after_;
  std::optional<Milliseconds> oldest_;
};

}  // namespace feedmill
