// Zones by their IANA names, with their summer time, from the system's tzdata: the one thing that parsers read besides
// the document.
#pragma once

#include <chrono>
#include <string_view>

namespace date {
class time_zone;
}

namespace feedmill {

/// The zone of that name, whatever the case; nullptr if there is none, or no tzdata. It lives until the program ends.
const date::time_zone* find_time_zone(std::string_view name);

/// How far east of UTC the zone's clocks are. `local` is what they show, since 1970. Times that they show twice are the
/// first; those that they skip are as before the change. 0 if the zone's file cannot be read.
std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds local);

}  // namespace feedmill
