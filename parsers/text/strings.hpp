// Small operations on ASCII and UTF-8 text, independent of the locale.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace feedmill {

inline constexpr std::size_t npos = std::string_view::npos;

/// White space of XML 1.0 §2.3, plus form feed as in HTML.
constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_alnum(char c) {
  return is_alpha(c) || is_digit(c);
}
constexpr bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}
/// Whether `text` has only ASCII letters, digits and the characters in `others`.
constexpr bool has_only_alnum_and(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return is_alnum(c) || others.find(c) != npos; });
}
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// The value of a hexadecimal digit; -1 for any other character.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Trims in place; copies nothing if there is nothing to trim.
inline void trim_in_place(std::string& text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.size() == text.size()) return;
  const auto start = static_cast<std::size_t>(trimmed.data() - text.data());
  text.erase(start + trimmed.size());
  text.erase(0, start);
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_lower(c);
  return result;
}

constexpr bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

constexpr bool istarts_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && iequals(text.substr(0, prefix.size()), prefix);
}

/// Whether `word` is in the list.
inline bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Whether `word` is one of `words`, which are separated by spaces.
inline bool is_word_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

/// is_one_of() ignoring case.
inline bool is_any_case_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view known) { return iequals(word, known); });
}

/// Position of `needle` (lower case) in `text`, ignoring case; npos if absent.
inline std::size_t ifind(std::string_view text, std::string_view needle, std::size_t from = 0) {
  for (std::size_t i = from; i + needle.size() <= text.size(); ++i) {
    if (iequals(text.substr(i, needle.size()), needle)) return i;
  }
  return std::string_view::npos;
}

/// Appends a code point as UTF-8; surrogates and values above U+10FFFF become U+FFFD.
inline void append_utf8(std::string& out, std::uint32_t code) {
  if (code >= 0xD800 && (code < 0xE000 || code > 0x10FFFF)) code = 0xFFFD;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// A decoded character.
struct Character {
  char32_t code = 0;      ///< the first byte if the bytes are not UTF-8
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which is not empty (Unicode §3.9, table 3-7: no overlong forms, no surrogates).
inline Character first_character(std::string_view text) {
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

/// The longest prefix of valid UTF-8 within `max` bytes that does not cut a code point.
inline std::string_view utf8_prefix(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xC0) == 0x80) --max;
  return text.substr(0, max);
}

/// A set of bytes to search for. One table look-up per byte, whereas std::string_view::find_first_of searches the set
/// for each byte.
class ByteSet {
 public:
  constexpr explicit ByteSet(std::string_view bytes) {
    for (const char c : bytes) member_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool has(char c) const { return member_[static_cast<unsigned char>(c)]; }
  /// Position of the first byte of the set at or after `from`; npos if there is none.
  std::size_t find_in(std::string_view text, std::size_t from = 0) const { return find(text, from, true); }
  /// Position of the first byte outside the set; npos if there is none.
  std::size_t find_outside(std::string_view text) const { return find(text, 0, false); }

 private:
  std::size_t find(std::string_view text, std::size_t from, bool member) const {
    const char* const bytes = text.data();
    for (std::size_t i = from, size = text.size(); i < size; ++i) {
      if (member_[static_cast<unsigned char>(bytes[i])] == member) return i;
    }
    return std::string_view::npos;
  }

  bool member_[256] = {};
};

/// Removes and returns the part of `rest` before `separator`, which is removed, too; all of `rest` if there is no
/// separator.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return part;
}

/// Removes and returns the next word of `rest`, delimited by white space; "" at the end.
inline std::string_view take_word(std::string_view& rest) {
  std::size_t start = 0;
  while (start < rest.size() && is_space(rest[start])) ++start;
  std::size_t end = start;
  while (end < rest.size() && !is_space(rest[end])) ++end;
  const std::string_view word = rest.substr(start, end - start);
  rest.remove_prefix(end);
  return word;
}

/// Trims the text and folds every run of white space to one space (SECURITY X3).
inline std::string fold_space(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : trim(text)) {
    if (!is_space(c)) {
      out += c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

/// Marks the bytes of `word` that equal those of `pattern` (one byte repeated) by their highest bit. Exact up to the
/// first match.
constexpr std::uint64_t equal_bytes(std::uint64_t word, std::uint64_t pattern) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  const std::uint64_t differs = word ^ pattern;
  return (differs - ones) & ~differs & (ones << 7);
}

/// The first `c` between `at` and `end`, else `end`. Faster than memchr if `c` is near.
inline const char* find_near(const char* at, const char* end, char c) {
  if constexpr (std::endian::native == std::endian::little) {
    const std::uint64_t pattern = 0x0101010101010101 * static_cast<unsigned char>(c);
    for (; end - at >= 8; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      const std::uint64_t found = equal_bytes(word, pattern);
      if (found != 0) return at + std::countr_zero(found) / 8;
    }
  }
  while (at < end && *at != c) ++at;
  return at;
}

/// Copies from `from` up to `stop` or the end; returns the number of bytes copied. `to` needs room for 8 extra bytes.
/// Copies eight bytes at a time: faster than memchr and memcpy if `stop` is near, as references are in escaped markup.
inline std::size_t copy_until(char* to, std::string_view from, char stop) {
  std::size_t at = 0;
  if constexpr (std::endian::native == std::endian::little) {
    const std::uint64_t pattern = 0x0101010101010101 * static_cast<unsigned char>(stop);
    for (; at + 8 <= from.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, from.data() + at, 8);
      std::memcpy(to + at, &word, 8);
      const std::uint64_t found = equal_bytes(word, pattern);
      if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
    }
  }
  for (; at < from.size() && from[at] != stop; ++at) to[at] = from[at];
  return at;
}

/// Folds line ends and tabs, with the spaces around them, to one space (SECURITY X3); other spaces stay.
inline void fold_lines(std::string& text) {
  static constexpr ByteSet line_ends("\n\t\r");
  if (line_ends.find_in(text) == std::string_view::npos) return;
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    bool line = false;
    while (end < text.size() && is_space(text[end])) line |= text[end++] != ' ';
    if (line) {
      out += ' ';
    } else {
      out.append(text, at, end - at);
    }
    at = end;
    while (at < text.size() && !is_space(text[at])) out += text[at++];
  }
  text = std::move(out);
}

// Decimal numbers in text: '-' is the only sign; no white space, no locale.

/// Whether all of `text` is a number that fits into `into`, which is set then and unchanged otherwise.
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

// Escapes text for markup.

/// Whether UTF-8 text contains a bidirectional control or an invisible character. Joiners are allowed, because host
/// names contain them.
inline bool has_format_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_ascii(text[i])) continue;
    const std::string_view at = text.substr(i, 3);
    if (at.starts_with("\xD8\x9C") || at == "\xEF\xBB\xBF") return true;
    if (at.size() < 3 || at[0] != '\xE2') continue;
    const auto second = static_cast<unsigned char>(at[1]), third = static_cast<unsigned char>(at[2]);
    const bool is_joiner = third == 0x8C || third == 0x8D;
    if (second == 0x80 && ((third >= 0x8B && third <= 0x8F && !is_joiner) || (third >= 0xA8 && third <= 0xAE)))
      return true;
    if (second == 0x81 && third >= 0xA0 && third <= 0xA9) return true;
  }
  return false;
}

/// The length in bytes of the character at `at` if XML 1.0 forbids it (C0 controls other than TAB, LF and CR; U+FFFE,
/// U+FFFF), else 0. `text` is UTF-8.
constexpr std::size_t forbidden_in_xml(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20) return byte == '\n' || byte == '\t' || byte == '\r' ? 0 : 1;
  const std::string_view three = byte == 0xEF ? text.substr(at, 3) : std::string_view();
  return three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF" ? 3 : 0;
}

/// The reference that replaces `c` in HTML text and in attributes with any quoting; "" if `c` needs none.
constexpr std::string_view html_reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '`':
      return "&#96;";
    default:
      return {};
  }
}

}  // namespace feedmill
