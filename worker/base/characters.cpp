#include "worker/base/characters.hpp"

#include <cwctype>

#include <locale.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

locale_t unicode() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

bool is_letter_or_digit(char32_t code) {
  return iswalnum_l(static_cast<wint_t>(code), unicode()) != 0;
}

std::string lower_case(std::string_view text) {
  std::string lowered;
  lowered.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes <= 1) {
      lowered += to_lower(text.front());
      text.remove_prefix(1);
    } else {
      append_utf8(lowered, static_cast<std::uint32_t>(towlower_l(static_cast<wint_t>(code), unicode())));
      text.remove_prefix(bytes);
    }
  }
  return lowered;
}

}  // namespace feedmill
