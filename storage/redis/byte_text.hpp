// Arbitrary bytes as JSON values, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace feedmill {

/// A string if `bytes` is valid UTF-8, else {"hex": "…"}.
boost::json::value byte_text(std::string_view bytes);

/// The bytes of a value made by byte_text; absent for other values.
std::optional<std::string> read_byte_text(const boost::json::value& value);

}  // namespace feedmill
