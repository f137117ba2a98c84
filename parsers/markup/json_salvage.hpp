// Broken JSON → JSON that says as much of the same as possible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

struct SalvagedJson {
  std::string text;
  bool cut_short = false;  ///< the text ended before its first value did …
  bool in_item = false;    ///< … and within an object of the array "items" of that value: the last one of it …
  bool in_name = false;    ///< … and there within what names or dates it: "id", "date_published", "date_modified"
};

/// Rewrites text that is meant to be JSON: comments and trailing commas go, missing commas and colons come, single
/// quotes and bare names become strings, raw control characters and bad escapes are repaired, what is open at the end
/// is closed, what follows the first value is left out. Values nested deeper than `max_depth` become null. What would
/// make it longer than about `max_bytes` counts as cut off. Linear.
SalvagedJson salvage_json(std::string_view text, std::size_t max_depth, std::size_t max_bytes = std::string_view::npos);

}  // namespace feedmill
