// Markup → the text a reader would see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedmill {

/// The visible text of HTML: tags gone, references decoded, block elements and <br> as white space, scripts and styles
/// left out, white space folded. At most `max_bytes`, cut at a code point. Linear.
std::string plain_text(std::string_view markup, std::size_t max_bytes = std::size_t{1} << 20);

}  // namespace feedmill
