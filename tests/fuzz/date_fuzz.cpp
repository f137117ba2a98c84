// Any text → a date within the years 1 … 9999, or none; and what is printed can be read again.
#include "parsers/text/date.hpp"
#include "tests/fuzz/invariants.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace feedmill;
  const std::string_view text = fuzz::view(data, size);
  if (const std::optional<Time> time = parse_date(text)) {
    const std::string printed = iso8601(*time);
    const std::optional<Time> again = parse_date(printed);
    fuzz::require(again.has_value() && *again == *time);
  }
  parse_duration(text);
  return 0;
}
