#include "worker/admin/html.hpp"

#include <algorithm>

#include "parsers/text/strings.hpp"
#include "worker/base/characters.hpp"
#include "worker/base/redact.hpp"
#include "worker/words/due_text.hpp"

namespace feedmill {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";   // U+FFFD
constexpr std::string_view narrow_space = "\xe2\x80\xaf";  // U+202F, no-break

/// Bidirectional controls and invisible characters; not the joiners (U+200C, U+200D), which belong to letters.
bool turns_or_hides(char32_t code) {
  return code == 0x061c || code == 0x200b || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

bool is_control(char32_t code) {
  return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || (code >= 0x7f && code <= 0x9f) ||
         (code & 0xfffe) == 0xfffe;
}

}  // namespace

std::string html_text(std::string_view text) {
  const std::string clean = redact(text);
  std::string out;
  out.reserve(clean.size() + clean.size() / 8);
  for (std::string_view rest = clean; !rest.empty();) {
    const Character first = first_character(rest);
    if (first.bytes == 0 || is_control(first.code)) {
      out += replacement;
    } else if (turns_or_hides(first.code)) {
      // left out
    } else {
      const std::string_view reference = html_reference(rest.front());
      out += reference.empty() ? rest.substr(0, first.bytes) : reference;
    }
    rest.remove_prefix(std::max<std::size_t>(first.bytes, 1));
  }
  return out;
}

void Html::put_number(std::int64_t number) {
  for (const char c : grouped(number)) {
    if (c == ' ')
      out_ += narrow_space;
    else
      out_ += c;
  }
}

}  // namespace feedmill
