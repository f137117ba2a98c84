// Text as it may stand in markup.
#pragma once

#include <string_view>

namespace feedmill {

/// What stands for `c` in HTML, in text and in attributes however they are quoted; "" for what may stand as it is.
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
