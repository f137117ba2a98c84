#include "worker/words/moments.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

std::tm utc(Milliseconds time) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string rfc3339(Milliseconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc(time));
}

std::string unix_time_text(const std::string& seconds) {
  std::int64_t time = 0;
  return read_number(seconds, time) ? rfc3339(std::chrono::seconds(time)) : seconds;
}

std::string rfc822(Milliseconds time) {
  constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm parts = utc(time);
  return fmt::format("{}, {:02} {} {} {:%H:%M:%S} GMT", days[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     months[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts);
}

std::string from_now(Milliseconds time, Milliseconds now) {
  if (time.count() == 0) return "never";
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time - now).count();
  const std::int64_t distance = std::abs(seconds);
  if (distance < 1) return "now";
  const std::string span = distance < 120      ? fmt::format("{} s", distance)
                           : distance < 7200   ? fmt::format("{} min", distance / 60)
                           : distance < 172800 ? fmt::format("{} h", distance / 3600)
                                               : fmt::format("{} d", distance / 86400);
  return seconds > 0 ? "in " + span : span + " ago";
}

}  // namespace feedmill
