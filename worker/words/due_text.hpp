// Formats a due time and its inputs for people (HTTP §11).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace feedmill
