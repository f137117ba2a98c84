#pragma once

#include <chrono>

namespace feedmill {

/// This machine's clock as time since 1970, like Redis' TIME. Stored times come from Redis only.
inline std::chrono::milliseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// Difference of our clock from Redis' that is worth a warning, and one that is a fault: due times use Redis' clock,
/// certificates and document dates ours.
inline constexpr std::chrono::seconds clock_warning{5}, clock_fault{300};

}  // namespace feedmill
