// Formats a due time and its inputs for people (HTTP §11).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "storage/redis/values.hpp"

namespace feedmill {

/// "3 200": digits in groups of three.
std::string grouped(std::int64_t number);

/// "54.5" from "S=54.50", the scheduler's record of a feed's posts a week; "" from anything else.
std::string posts_a_week(std::string_view from);

/// Formats DueTime::why: "adaptive 3 200 s (S = 54.5)  floor 3 600 s  phase +131 s"; "" if it cannot be read. Not
/// cleaned: part of it is a server's text.
std::string due_inputs_text(std::string_view why);
/// DueTime::why as a JSON array [{"code":…,"s":…,"from":…}]; null if empty.
boost::json::value due_inputs_json(std::string_view why);

/// "2026-03-01T13:07:12Z, in 26 min, because of max_age".
std::string due_text(Milliseconds due, Milliseconds now, std::string_view due_reason);

// The inputs of a due time, as stored in DueTime::why (HTTP E1).

/// An input of a due time, as listed in DueTime::why (HTTP E1). `code` is one of HTTP §11.
struct DueInput {
  std::string_view code;
  std::int64_t seconds = 0;
  std::string from;  ///< raw input, at most 120 bytes
};

/// The text for DueTime::why, one input per line: "<code> <seconds> <from>".
std::string encode_due_inputs(std::span<const DueInput> inputs);
/// The inputs in such a text; their codes point into it. Ignores unreadable lines.
std::vector<DueInput> decode_due_inputs(std::string_view why);

}  // namespace feedmill
