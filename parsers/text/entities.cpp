#include "parsers/text/entities.hpp"

#include <algorithm>
#include <array>

#include "parsers/text/entity_table.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// Code points of 0x80–0x9F in windows-1252 (WHATWG Encoding); 0: not assigned.
constexpr std::array<std::uint16_t, 32> windows_1252 = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                                        0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                                        0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

static_assert(std::ranges::is_sorted(entity_table, {}, &EntityRow::name));

// Index for a name's first letter: "A" … "Z", then "a" … "z".
constexpr std::size_t letter_index(char c) {
  return static_cast<std::size_t>(c >= 'a' ? c - 'a' + 26 : c - 'A');
}

constexpr std::array<std::uint16_t, 53> first_of_letter = [] {
  std::array<std::uint16_t, 53> result{};
  std::size_t row = 0;
  for (std::size_t letter = 0; letter <= 52; ++letter) {
    while (row < std::size(entity_table) && letter_index(entity_table[row].name[0]) < letter) ++row;
    result[letter] = static_cast<std::uint16_t>(row);
  }
  return result;
}();

const EntityRow* find(std::string_view name) {
  if (name.empty() || !is_alpha(name[0])) return nullptr;
  const std::size_t letter = letter_index(name[0]);
  const EntityRow* end = entity_table + first_of_letter[letter + 1];
  const EntityRow* row = std::lower_bound(entity_table + first_of_letter[letter], end, name,
                                          [](const EntityRow& a, std::string_view b) { return a.name < b; });
  return row != end && row->name == name ? row : nullptr;
}

Reference read_numeric(std::string_view text) {
  Reference reference;
  reference.numeric = true;
  std::size_t at = 2;
  const bool hex = at < text.size() && (text[at] == 'x' || text[at] == 'X');
  if (hex) ++at;
  const std::size_t digits = at;
  std::uint32_t code = 0;
  for (; at < text.size(); ++at) {
    const int digit = hex ? hex_value(text[at]) : (is_digit(text[at]) ? text[at] - '0' : -1);
    if (digit < 0) break;
    code = std::min<std::uint32_t>(code * (hex ? 16 : 10) + static_cast<std::uint32_t>(digit), 0x110000);
  }
  if (at == digits) return {};
  reference.name = text.substr(1, at - 1);
  reference.closed = at < text.size() && text[at] == ';';
  reference.length = at + (reference.closed ? 1 : 0);
  reference.written = code;
  reference.code = repaired_character(code);
  reference.repaired = reference.code != code;
  return reference;
}

// The longest legacy name that `name` begins with, for "&copy2024".
const EntityRow* find_legacy_prefix(std::string_view name) {
  for (std::size_t length = std::min<std::size_t>(name.size(), 6); length >= 2; --length) {
    const EntityRow* row = find(name.substr(0, length));
    if (row != nullptr && row->legacy) return row;
  }
  return nullptr;
}

}  // namespace

std::string_view named_entity(std::string_view name) {
  const EntityRow* row = find(name);
  return row == nullptr ? std::string_view{} : row->value;
}

bool is_legacy_entity(std::string_view name) {
  const EntityRow* row = find(name);
  return row != nullptr && row->legacy;
}

std::uint32_t repaired_character(std::uint32_t code) {
  if (code >= 0x80 && code < 0xA0) return windows_1252[code - 0x80];
  if (code < 0x20 && code != '\t' && code != '\n' && code != '\r') return 0;
  if (code == '\r') return '\n';
  if (code == 0x7F) return 0;
  if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return 0xFFFD;
  if ((code & 0xFFFE) == 0xFFFE) return 0;
  return code;
}

Reference read_reference(std::string_view text) {
  if (text.size() < 2) return {};
  if (text[1] == '#') return read_numeric(text);
  Reference reference;
  if (!is_alpha(text[1])) return {};
  std::size_t end = 2;
  while (end < text.size() && end < 40 && is_alnum(text[end])) ++end;
  reference.name = text.substr(1, end - 1);
  reference.closed = end < text.size() && text[end] == ';';
  reference.length = end + (reference.closed ? 1 : 0);
  reference.value = named_entity(reference.name);
  return reference;
}

void append_decoded(std::string& out, std::string_view text, bool in_attribute) {
  std::size_t start = 0;
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at)) {
    Reference reference = read_reference(text.substr(at));
    if (reference.length != 0 && !reference.numeric && (!reference.closed || reference.value.empty())) {
      const EntityRow* row = find_legacy_prefix(reference.name);
      const std::size_t end = row == nullptr ? 0 : at + 1 + row->name.size();
      const bool blocked = in_attribute && row != nullptr && end < text.size() &&
                           (text[end] == '=' || is_alnum(text[end]) || text[end] == ';');
      if (row == nullptr || blocked) {
        reference.length = 0;
      } else {
        reference.length = 1 + row->name.size();
        reference.value = row->value;
      }
    }
    if (reference.length == 0) {
      ++at;
      continue;
    }
    out.append(text.substr(start, at - start));
    if (!reference.numeric) {
      out.append(reference.value);
    } else if (reference.code != 0) {
      append_utf8(out, reference.code);
    }
    at += reference.length;
    start = at;
  }
  out.append(text.substr(start));
}

}  // namespace feedmill
