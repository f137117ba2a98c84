#include "parsers/text/charset_hz.hpp"

namespace feedmill {

std::string hz_to_gb2312(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  bool pairs = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    const char next = at + 1 < bytes.size() ? bytes[at + 1] : '\0';
    if (c == '\n') pairs = false;
    if (c == '~' && (next == '{' || next == '}')) {
      pairs = next == '{';
      ++at;
    } else if (c == '~' && !pairs && (next == '~' || next == '\n')) {
      if (next == '~') out += '~';
      ++at;
    } else if (pairs && c > ' ' && next > ' ') {
      out += static_cast<char>(static_cast<unsigned char>(c) | 0x80U);
      out += static_cast<char>(static_cast<unsigned char>(next) | 0x80U);
      ++at;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace feedmill
