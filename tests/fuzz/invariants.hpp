// Properties of everything that leaves parsers/ (SECURITY X3). A violation aborts, which the fuzzer reports.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace feedmill::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Requires valid UTF-8 (Unicode table 3-7) without NUL and without C0 controls except TAB and LF.
inline void require_clean(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    require(c >= 0x20 || c == '\t' || c == '\n');
    const std::size_t length = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    require(length > 0 && i + length <= text.size());
    std::uint32_t code = length == 1 ? c : c & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      require((next & 0xC0) == 0x80);
      code = (code << 6) | (next & 0x3F);
    }
    require(length < 3 || code >= (length == 3 ? 0x800U : 0x10000U));
    require(code < 0xD800 || (code > 0xDFFF && code < 0x110000));
    i += length;
  }
}

inline std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace feedmill::fuzz
