// Durations, sizes and times, parsed from configuration and formatted for output.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace feedmill {

/// Parses "500ms" "90s" "15m" (also "15min") "24h" "7d", or "0". Empty for anything else: no unit, a sign, a fraction,
/// overflow.
std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

/// Parses "0" "512B" "64KiB" "16MiB" "2GiB" to bytes. Empty for anything else.
std::optional<std::uint64_t> read_size(std::string_view text);

/// In the largest exact unit: "90s", "15min". read_duration() reads it back.
std::string format_duration(std::chrono::milliseconds duration);

/// Seconds for programs, rounded to milliseconds.
double in_seconds(std::chrono::duration<double> span);

/// In the largest exact unit: "64KiB". read_size() reads it back.
std::string format_size(std::uint64_t bytes);

/// RFC 3339 in UTC with milliseconds: "2026-03-01T12:00:00.123Z".
std::string format_time(std::chrono::system_clock::time_point time);

// Formats figures for people.

/// A duration: "12 min", "3 h".
std::string span_text(std::chrono::duration<double> span);

/// A size: "1.4 GiB", "312 KiB".
std::string bytes_text(std::uint64_t bytes);

/// `part` in percent of `whole`; 0 if `whole` is 0.
double percent(std::uint64_t part, std::uint64_t whole);

/// `part` in percent of `whole`: "19 %", "0.4 %"; "–" if `whole` is 0.
std::string percent_text(std::uint64_t part, std::uint64_t whole);

/// `text` cut to `characters`, ending in "…" if it was cut.
std::string short_text(std::string_view text, std::size_t characters);

}  // namespace feedmill
