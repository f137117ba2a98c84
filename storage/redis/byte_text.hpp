// Bytes of any kind as JSON values, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace feedmill {

/// A string when `bytes` is valid UTF-8, else {"hex": "…"}.
boost::json::value byte_text(std::string_view bytes);

/// What byte_text made a value of; absent when it did not.
std::optional<std::string> read_byte_text(const boost::json::value& value);

}  // namespace feedmill
