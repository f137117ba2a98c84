// Parses the dates and durations that publishers write.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

/// A point in time, UTC.
using Time = std::chrono::sys_time<std::chrono::microseconds>;

/// Reads the date of a post (DESIGN §3.4): RFC 822 and 2822, RFC 3339 and W3CDTF, ISO 8601 with week and ordinal dates,
/// asctime, and other forms that publishers write (words of some ninety languages, Perforce, MSSQL, two-digit years,
/// 24:00, leap seconds, military and odd zones, seconds or milliseconds since 1970). A missing or unknown zone counts
/// as UTC. Empty if the text is unreadable, if completing it would need a clock, for years outside 99 … 999 and 1900 …
/// 9999, and for 1970-01-01, which means "no date". Linear; reads at most 256 bytes.
std::optional<Time> parse_date(std::string_view text);

/// parse_date() that also accepts 1970-01-01.
std::optional<Time> parse_moment(std::string_view text);

/// Whether parse_date() reads the date, but does not know the zone that it names.
bool has_unknown_zone(std::string_view date);

/// RFC 3339 in UTC, `2004-01-01T19:48:21Z`; with the fraction unless it is zero.
std::string iso8601(Time time);
/// "" if there is no time.
std::string iso8601(const std::optional<Time>& time);

/// Seconds since 1970, rounded down.
std::int64_t unix_seconds(Time time);

/// Parses a duration as iTunes and others write it: seconds, MM:SS, HH:MM:SS (with a fraction), or ISO 8601's PT1H2M3S.
/// Returns seconds; empty if unreadable.
std::optional<double> parse_duration(std::string_view text);

}  // namespace feedmill
