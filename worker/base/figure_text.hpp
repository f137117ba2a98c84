// Formats figures for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

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
