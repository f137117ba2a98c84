#pragma once

#include <chrono>

namespace feedmill {

/// This machine's clock, as Redis tells its own: since the beginning of 1970. What is written goes by Redis' alone.
inline std::chrono::milliseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace feedmill
