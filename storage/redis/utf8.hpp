// Checks text for readers (DESIGN §3.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace feedmill {

/// Well-formed UTF-8 (Unicode table 3-7). Linear.
bool is_utf8(std::string_view text);

/// Well-formed UTF-8 without characters that XML forbids (forbidden_in_xml).
bool is_clean_text(std::string_view text);

/// `text` with U+FFFD in place of each byte and character that is not clean.
std::string cleaned_text(std::string_view text);

// Arbitrary bytes as JSON values, and back.

/// A string if `bytes` is valid UTF-8, else {"hex": "…"}.
boost::json::value byte_text(std::string_view bytes);

/// The bytes of a value made by byte_text; absent for other values.
std::optional<std::string> read_byte_text(const boost::json::value& value);

}  // namespace feedmill
