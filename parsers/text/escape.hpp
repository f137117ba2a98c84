// Escapes text for markup.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

/// The length in bytes of the character at `at` if XML 1.0 forbids it (C0 controls other than TAB, LF and CR, U+FFFE,
/// U+FFFF), else 0. `text` is UTF-8.
constexpr std::size_t forbidden_in_xml(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20) return byte == '\n' || byte == '\t' || byte == '\r' ? 0 : 1;
  const std::string_view three = byte == 0xEF ? text.substr(at, 3) : std::string_view();
  return three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF" ? 3 : 0;
}

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
