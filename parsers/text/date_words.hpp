// The words that dates are made of, in the languages that feeds are written in.
#pragma once

#include <optional>
#include <string_view>

namespace feedmill {

/// 1 … 12 for the name of a month or a usual abbreviation of it, whatever the case; 0 for anything else.
int month_of(std::string_view word);

/// Minutes east of UTC of a zone's name or of a military letter (RFC 822 §5); nothing when unknown.
std::optional<int> zone_of(std::string_view word);

bool is_weekday(std::string_view word);

}  // namespace feedmill
