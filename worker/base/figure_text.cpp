#include "worker/base/figure_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace feedmill {

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
