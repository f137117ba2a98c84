#pragma once

#include <chrono>

namespace feedmill {

/// This machine's clock, as Redis tells its own: since the beginning of 1970. What is written goes by Redis' alone.
inline std::chrono::milliseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// How far our clock and Redis' may be apart before somebody is told, and before that is a fault: due times go by
/// Redis', certificates and dates of documents by ours.
inline constexpr std::chrono::seconds clock_warning{5}, clock_fault{300};

}  // namespace feedmill
