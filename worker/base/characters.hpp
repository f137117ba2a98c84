// Decodes possibly invalid UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

/// A decoded character.
struct Character {
  char32_t code = 0;      ///< the first byte if the bytes are not UTF-8
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which is not empty (Unicode §3.9, table 3-7: no overlong forms, no surrogates).
Character first_character(std::string_view text);

}  // namespace feedmill
