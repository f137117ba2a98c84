#include "storage/records/folded.hpp"

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace feedmill {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

/// Copies `text` to `out`, folding blanks, without a branch, because it processes every byte of every post. `gap`: the
/// previous character was a blank. Returns the end.
char* fold(char* out, std::string_view text, bool& gap) {
  for (const char c : text) {
    const bool blank = is_blank(c);
    *out = blank ? ' ' : c;
    out += static_cast<std::ptrdiff_t>(!(blank && gap));
    gap = blank;
  }
  return out;
}

/// Folds `text` to the end of `out` with `with`, and trims the result.
template <class Fold>
void append_by(std::string& out, std::string_view text, Fold with) {
  const std::size_t before = out.size();
  out.resize(before + text.size());
  char* const begin = out.data() + before;
  bool gap = true;  // drops leading blanks
  char* end = with(begin, text, gap);
  if (gap && end != begin) --end;
  out.resize(before + static_cast<std::size_t>(end - begin));
}

}  // namespace

void append_folded_bytewise(std::string& out, std::string_view text) {
  append_by(out, text, fold);
}

void append_folded(std::string& out, std::string_view text) {
#if defined(__SSE2__)
  append_by(out, text, [](char* to, std::string_view rest, bool& gap) {
    constexpr std::size_t width = 16;
    const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), line = _mm_set1_epi8('\n');
    for (; rest.size() >= width; rest.remove_prefix(width)) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rest.data()));
      const __m128i other = _mm_or_si128(_mm_cmpeq_epi8(bytes, tab), _mm_cmpeq_epi8(bytes, line));
      const __m128i blanks = _mm_or_si128(_mm_cmpeq_epi8(bytes, space), other);
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(blanks));
      if ((mask & (mask << 1U | (gap ? 1U : 0U))) != 0) {  // two in a row
        to = fold(to, rest.substr(0, width), gap);
        continue;
      }
      const __m128i folded = _mm_or_si128(_mm_andnot_si128(other, bytes), _mm_and_si128(other, space));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), folded);
      to += width;
      gap = (mask & 0x8000U) != 0;
    }
    return fold(to, rest, gap);
  });
#else
  append_folded_bytewise(out, text);
#endif
}

}  // namespace feedmill
