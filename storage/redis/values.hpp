// Types used throughout storage/. Times are Redis' own clock, unix milliseconds unless a name says seconds.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace feedmill {

using Milliseconds = std::chrono::milliseconds;  ///< a duration, or a time since the epoch by Redis' clock
using Fields = std::vector<std::pair<std::string, std::string>>;

}  // namespace feedmill
