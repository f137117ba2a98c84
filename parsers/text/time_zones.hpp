// Time zones by IANA name, with summer time, from the system's tzdata: the only data that parsers read besides the
// document.
#pragma once

#include <chrono>
#include <string_view>

namespace date {
class time_zone;
}

namespace feedmill {

/// The zone of that name, ignoring case; nullptr if there is none, or no tzdata. Valid until the program ends.
const date::time_zone* find_time_zone(std::string_view name);

/// Offset of the zone's clocks, east of UTC. `local`: local clock time, since 1970. A time that occurs twice means the
/// first; a skipped time has the offset before the change. 0 if the zone's file cannot be read.
std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds local);

}  // namespace feedmill
