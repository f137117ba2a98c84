// Characters of possibly invalid UTF-8: decoding and case.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// A decoded character.
struct Character {
  char32_t code = 0;      ///< the first byte if the bytes are not UTF-8
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which is not empty (Unicode §3.9, table 3-7: no overlong forms, no surrogates).
Character first_character(std::string_view text);

/// Whether the character is a letter or digit of any script.
bool is_letter_or_digit(char32_t code);

/// `text` in lower case, for comparisons without regard to case: letters of all scripts, regardless of the process'
/// locale. Bytes that are not UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace feedmill
