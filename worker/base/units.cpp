#include "worker/base/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace feedmill {
namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr Unit duration_units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000},
                                   {"m", 60'000},     {"s", 1'000},     {"ms", 1}};
constexpr Unit size_units[] = {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"B", 1}};

/// A whole number followed by one of `units`; empty if the product exceeds 63 bits, so that a signed count holds it.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  if (suffix.empty() && number == 0) return 0;
  for (const auto& [name, factor] : units) {
    if (suffix != name) continue;
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / factor) return std::nullopt;
    return number * factor;
  }
  return std::nullopt;
}

std::string format_quantity(std::uint64_t quantity, std::span<const Unit> units) {
  for (const auto& [name, factor] : units)
    if (quantity % factor == 0) return std::to_string(quantity / factor).append(name);
  return std::to_string(quantity);
}

}  // namespace

std::optional<std::chrono::milliseconds> read_duration(std::string_view text) {
  const auto quantity = parse_quantity(text, duration_units);
  if (!quantity) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*quantity));
}

std::optional<std::uint64_t> read_size(std::string_view text) {
  return parse_quantity(text, size_units);
}

std::string format_duration(std::chrono::milliseconds duration) {
  if (duration.count() <= 0) return "0s";
  return format_quantity(static_cast<std::uint64_t>(duration.count()), duration_units);
}

std::string format_size(std::uint64_t bytes) {
  if (bytes == 0) return "0B";
  return format_quantity(bytes, size_units);
}

std::string format_time(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<milliseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

double in_seconds(std::chrono::duration<double> span) {
  return std::round(span.count() * 1000) / 1000;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string span_text(std::chrono::duration<double> span) {
  const double seconds = span.count();
  if (seconds > 0 && seconds < 0.9995) return fmt::format("{:.0f} ms", std::max(1.0, seconds * 1000));
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86'400);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit > 0 && value < 10 ? 1 : 0, units[unit]);
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  const double share = percent(part, whole);
  return share > 0 && share < 9.95 ? fmt::format("{:.1f} %", share) : fmt::format("{:.0f} %", share);
}

std::string short_text(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0U) != 0x80;
    if (begins && seen++ == characters) return std::string(text.substr(0, bytes)) + "…";
  }
  return std::string(text);
}

}  // namespace feedmill
