// Characters of all scripts: kind and case.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// Whether the character is a letter or digit of any script.
bool is_letter_or_digit(char32_t code);

/// `text` in lower case, for comparisons without regard to case: letters of all scripts, regardless of the process'
/// locale. Bytes that are not UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace feedmill
