// Checks text for readers (DESIGN §3.1).
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Well-formed UTF-8 (Unicode table 3-7). Linear.
bool is_utf8(std::string_view text);

/// Well-formed UTF-8 without characters that XML forbids (forbidden_in_xml).
bool is_clean_text(std::string_view text);

/// `text` with U+FFFD for each byte and character that is not clean.
std::string cleaned_text(std::string_view text);

}  // namespace feedmill
