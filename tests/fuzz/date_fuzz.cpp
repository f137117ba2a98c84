// Any text → no date, or one in the years 99 … 999 or 1900 … 9999 that is not the epoch. A printed date reads back as
// the same date, and a text with an unknown zone is a date.
#include "parsers/text/date.hpp"
#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"

FEEDMILL_FUZZ_TARGET(date_fuzz, data, size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  if (const std::optional<Time> time = parse_date(text)) {
    const std::string printed = iso8601(*time);
    fuzz::require(printed >= "0099" && printed < "9999-12-31T23:59:60" && printed.find("1970-01-01") != 0);
    fuzz::require(printed.find_first_not_of("0123456789-T:.Z") == std::string::npos);
    const std::optional<Time> again = parse_date(printed);
    fuzz::require(again.has_value() && *again == *time);
  }
  if (has_unknown_zone(text)) fuzz::require(parse_moment(text).has_value());
  parse_duration(text);
  return 0;
}
