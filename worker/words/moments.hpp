// Formats points in time for people and programs.
#pragma once

#include <string>

#include "storage/redis/values.hpp"

namespace feedmill {

/// "2026-11-21T13:20:00Z" (RFC 3339, whole seconds).
std::string rfc3339(Milliseconds time);
/// A Unix time in seconds, as stored in Redis, in the form of rfc3339(); other text is unchanged.
std::string unix_time_text(const std::string& seconds);

/// "Sat, 21 Nov 2026 13:20:00 GMT" (RFC 822 with a four-digit year).
std::string rfc822(Milliseconds time);

/// Relative to `now`, for people: "in 12 min", "3 h ago", "now"; "never" for time zero.
std::string from_now(Milliseconds time, Milliseconds now);

}  // namespace feedmill
