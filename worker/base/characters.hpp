// UTF-8 that may be broken, a character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

struct Character {
  char32_t code = 0;      ///< the first byte when the bytes are no UTF-8
  std::size_t bytes = 0;  ///< 0: they are none
};

/// The character that `text`, which is not empty, begins with (Unicode §3.9, table 3-7: no overlong forms, no
/// surrogates).
Character first_character(std::string_view text);

}  // namespace feedmill
