// Character and entity references of XML and HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

/// The text of the entity `name` (without & and ;) as UTF-8; "" if HTML does not define it. Where HTML 4 and HTML 5
/// differ (lang, rang), HTML 4 wins, because feeds are older than the change.
std::string_view named_entity(std::string_view name);

/// Whether HTML also accepts `name` without its semicolon (`&copy`, `&nbsp`): the legacy names of HTML §13.5.
bool is_legacy_entity(std::string_view name);

/// The character that a numeric reference means: 0x80–0x9F by the windows-1252 table, LF for CR, U+FFFD for surrogates
/// and values above U+10FFFF. 0 for characters that must be dropped: other controls, noncharacters at the end of a
/// plane.
std::uint32_t repaired_character(std::uint32_t code);

/// One reference at the start of a text.
struct Reference {
  std::size_t length = 0;     ///< bytes in the text, including "&"; 0: a literal "&"
  std::uint32_t code = 0;     ///< numeric: the character, repaired
  std::uint32_t written = 0;  ///< numeric: the number as written
  std::string_view value{};   ///< named: its text; "" (and not `numeric`): not defined
  std::string_view name{};    ///< the name, or the digits with their "#"
  bool numeric = false;
  bool repaired = false;  ///< numeric: `code` differs from `written`
  bool closed = false;    ///< ended by ";"
};

/// The character of the XML entity at the start of `text` ("&" included), if it ends in ";"; else NUL.
inline char predefined_entity(std::string_view text) {
  if (text.size() < 4) return '\0';
  const char* name = text.data() + 1;
  if (name[1] == 't' && name[2] == ';') return name[0] == 'l' ? '<' : name[0] == 'g' ? '>' : '\0';
  if (name[0] == 'a' && name[1] == 'm') return text.size() > 4 && name[2] == 'p' && name[3] == ';' ? '&' : '\0';
  if (name[0] != 'q' && name[0] != 'a') return '\0';
  const std::string_view five = text.substr(1, 5);
  return five == "quot;" ? '"' : five == "apos;" ? '\'' : '\0';
}

/// The length of the reference that predefined_entity() has read as `character`.
constexpr std::size_t predefined_length(char character) {
  return character == '<' || character == '>' ? 4 : character == '&' ? 5 : 6;
}

/// Reads the reference at the start of `text` (text[0] is '&').
Reference read_reference(std::string_view text);

/// Appends `text` with references decoded once, as HTML does: legacy names also without ";" (but with `in_attribute`
/// not before an alphanumeric or "="). All other text stays unchanged.
void append_decoded(std::string& out, std::string_view text, bool in_attribute = false);

inline std::string decode_references(std::string_view text) {
  std::string out;
  append_decoded(out, text);
  return out;
}

}  // namespace feedmill
