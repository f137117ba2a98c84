#include "worker/admin/html.hpp"

#include <algorithm>

#include "worker/log.hpp"
#include "worker/text/due_text.hpp"

namespace feedmill {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";   // U+FFFD
constexpr std::string_view narrow_space = "\xe2\x80\xaf";  // U+202F, which does not break

/// The character that `text` begins with and its bytes; no bytes when they are no UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
  char32_t code = byte(0) & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

/// Turns what stands around it, or hides: nobody needs it in a line of text. Joiners (U+200C, U+200D) are letters' own.
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
    const Character first = first_of(rest);
    if (first.bytes == 0 || is_control(first.code)) {
      out += replacement;
    } else if (turns_or_hides(first.code)) {
      // left out
    } else {
      switch (first.code) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        case '`':
          out += "&#96;";
          break;
        default:
          out += rest.substr(0, first.bytes);
      }
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
