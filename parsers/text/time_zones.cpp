#include "parsers/text/time_zones.hpp"

#include <exception>
#include <map>
#include <string>

#include <date/tz.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

using Zones = std::map<std::string, const date::time_zone*, std::less<>>;

// Zones by name in lower case; empty without tzdata, for which the library throws.
Zones load_zones() try {
  Zones found;
  for (const date::time_zone& zone : date::get_tzdb().zones) found.emplace(lower(zone.name()), &zone);
  return found;
} catch (const std::exception&) {
  return {};
}

}  // namespace

const date::time_zone* find_time_zone(std::string_view name) {
  static const Zones loaded = load_zones();
  const auto found = loaded.find(lower(name));
  return found == loaded.end() ? nullptr : found->second;
}

std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds local) try {
  return zone.get_info(date::local_seconds{local}).first.offset;
} catch (const std::exception&) {
  return std::chrono::seconds{0};
}

}  // namespace feedmill
