// Escapes in the targets and forms of requests that come to us.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

/// `text` with its escapes undone, once (SECURITY O5); false when one is broken. `plus`: "+" is a space, as in forms.
inline bool percent_decode(std::string_view text, bool plus, std::string& into) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  into.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      into += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return false;
    into += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return true;
}

}  // namespace feedmill
