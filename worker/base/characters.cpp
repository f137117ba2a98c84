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

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {lead, 0};
  char32_t code = lead & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {lead, 0};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {lead, 0};
  return {code, bytes};
}

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
