#include "worker/words/moments.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>

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
  const std::tm parts = utc(time);
  return fmt::format("{0:%a, %d %b} {1} {0:%H:%M:%S} GMT", parts, parts.tm_year + 1900);
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
