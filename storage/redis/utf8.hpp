// Whether bytes are text as readers get it (DESIGN §3.1).
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Well-formed UTF-8 (Unicode table 3-7). Linear.
bool is_utf8(std::string_view text);

/// Well-formed UTF-8 without C0 controls other than TAB, LF and CR.
bool is_clean_text(std::string_view text);

/// `text` with U+FFFD in place of each byte that keeps it from being clean.
std::string cleaned_text(std::string_view text);

}  // namespace feedmill
