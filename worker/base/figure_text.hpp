// Figures as people read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

/// "12 min", "3 h": a length of time for people.
std::string span_text(std::chrono::duration<double> span);

/// "1.4 GiB", "312 KiB"
std::string bytes_text(std::uint64_t bytes);

/// Part of a whole in percent, 0 of nothing.
double percent(std::uint64_t part, std::uint64_t whole);

/// "19 %", "0.4 %", "–" of nothing
std::string percent_text(std::uint64_t part, std::uint64_t whole);

/// Text cut to so many characters, "…" behind.
std::string short_text(std::string_view text, std::size_t characters);

}  // namespace feedmill
