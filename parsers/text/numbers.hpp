// Decimal numbers in text: no sign except '-', no white space, no locale.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace feedmill {

/// Whether the whole of `text` is a number that fits; if so, it is stored in `into`, which is otherwise unchanged.
template <class Number>
bool read_number(std::string_view text, Number& into) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  into = value;
  return true;
}

/// The number at the start of `text`; `otherwise` if there is none or it does not fit.
template <class Number>
Number leading_number(std::string_view text, Number otherwise = {}) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace feedmill
