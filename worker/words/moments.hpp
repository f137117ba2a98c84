// Points in time as people and programs read them.
#pragma once

#include <string>

#include "storage/redis/values.hpp"

namespace feedmill {

/// "2026-11-21T13:20:00Z" (RFC 3339, whole seconds).
std::string rfc3339(Milliseconds time);
/// The same of what Redis holds: a unix time in seconds; anything else as it is.
std::string unix_time_text(const std::string& seconds);

/// "Sat, 21 Nov 2026 13:20:00 GMT" (RFC 822 with four digits of year).
std::string rfc822(Milliseconds time);

/// How far from now, for people: "in 12 min", "3 h ago", "now"; "never" for the time zero.
std::string from_now(Milliseconds time, Milliseconds now);

}  // namespace feedmill
