// How much programs have asked for that is not done yet (RELIABILITY Q3).
#pragma once

#include <cstdint>

namespace feedmill {

/// Of stream:requests: how many wait, and what they take in Redis' memory.
struct RequestFigures {
  std::uint64_t waiting = 0, bytes = 0;

  /// Whether that is so much that somebody should look.
  bool piles_up() const { return waiting > 10'000 || bytes > std::uint64_t{64} << 20U; }
};

}  // namespace feedmill
