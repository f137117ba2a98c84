// How much programs have asked for that is not done yet (RELIABILITY Q3).
#pragma once

#include <cstdint>

namespace feedmill {

/// Of stream:requests: how many wait, and their bytes in Redis' memory; and the records in state:requests:poison, of
/// which Redis keeps at most 100, until an operator deletes the key.
struct RequestFigures {
  std::uint64_t waiting = 0, bytes = 0, set_aside = 0;

  /// Whether that is so much that somebody should look.
  bool piles_up() const { return waiting > 10'000 || bytes > std::uint64_t{64} << 20U; }
};

}  // namespace feedmill
