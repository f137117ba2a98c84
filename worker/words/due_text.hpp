// A due time and what it was made of, as people read it (HTTP §11).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "storage/redis/values.hpp"

namespace feedmill {

/// "3 200": digits in groups of three.
std::string grouped(std::int64_t number);

/// "54.5" of "S=54.50", what the scheduler keeps of a feed's posts a week; "" of anything else.
std::string posts_a_week(std::string_view from);

/// "adaptive 3 200 s (S = 54.5)  floor 3 600 s  phase +131 s" of what DueTime::why holds; "" of what cannot be read.
/// Not cleaned: part of it is what a server said.
std::string due_inputs_text(std::string_view why);
/// The same as JSON array [{"code":…,"s":…,"from":…}]; null of nothing.
boost::json::value due_inputs_json(std::string_view why);

/// "2026-03-01T13:07:12Z, in 26 min, because of max_age".
std::string due_text(Milliseconds due, Milliseconds now, std::string_view due_reason);

}  // namespace feedmill
