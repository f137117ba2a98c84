// Escapes text for markup.
#pragma once

#include <string_view>

namespace feedmill {

/// The reference for `c` in HTML text and attributes with any quoting; "" if it needs none.
constexpr std::string_view html_reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '`':
      return "&#96;";
    default:
      return {};
  }
}

}  // namespace feedmill
