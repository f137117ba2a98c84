// Backlog of requests from client programs (RELIABILITY Q3).
#pragma once

#include <cstdint>

namespace feedmill {

/// stream:requests: waiting requests and their bytes in Redis' memory; and the records in state:requests:poison, at
/// most 100, which stay until an operator deletes the key.
struct RequestFigures {
  std::uint64_t waiting = 0, bytes = 0, set_aside = 0;

  /// Whether the backlog needs an operator's attention.
  bool piles_up() const { return waiting > 10'000 || bytes > std::uint64_t{64} << 20U; }
};

}  // namespace feedmill
