// Decimal numbers in text: no sign but '-', no white space, no locale.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace feedmill {

/// Whether `text` is a number and nothing else, which `into` then is; it stays what it was when it is none, or does not
/// fit.
template <class Number>
bool read_number(std::string_view text, Number& into) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  into = value;
  return true;
}

/// The number that `text` begins with, `otherwise` when there is none or it does not fit.
template <class Number>
Number leading_number(std::string_view text, Number otherwise = {}) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace feedmill
