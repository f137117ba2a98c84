// Repairs broken JSON, keeping as much of its content as possible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

struct SalvagedJson {
  std::string text;
  bool cut_short = false;  ///< the text ended before its first value did …
  bool in_item = false;    ///< … inside an object of that value's array "items", the last one in `text` …
  bool in_name = false;    ///< … and there inside the value of "id", "date_published" or "date_modified"
};

/// Rewrites text that is meant to be JSON. Drops comments, trailing commas and everything after the first value; adds
/// missing commas and colons; turns single-quoted and bare words into strings; repairs raw control characters and bad
/// escapes; closes open values at the end. Values nested deeper than `max_depth` become null. Output beyond about
/// `max_bytes` counts as cut off. Linear.
SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes = std::string_view::npos);

}  // namespace feedmill
