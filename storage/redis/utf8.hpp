// Checks text for readers (DESIGN §3.1).
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Well-formed UTF-8 (Unicode table 3-7). Linear.
bool is_utf8(std::string_view text);

/// Well-formed UTF-8 without C0 controls other than TAB, LF and CR.
bool is_clean_text(std::string_view text);

/// `text` with U+FFFD for each byte that is not clean.
std::string cleaned_text(std::string_view text);

}  // namespace feedmill
