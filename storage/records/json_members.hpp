// The members of a stored JSON object, as text: `extensions` and `media` as document_json.hpp writes them.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedmill {

/// The place behind a string of JSON text that our own writer made, whose first quote is at `quote`.
inline std::size_t end_of_string(std::string_view json, std::size_t quote) {
  std::size_t end = quote + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// The place of the comma or bracket behind the value that begins at `at`; the size of `json` or more when there is
/// none.
inline std::size_t end_of_value(std::string_view json, std::size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at = c == '"' ? end_of_string(json, at) : at + 1;
  }
  return at;
}

/// Calls `member(name, value)` for each member of `object`, JSON text that our own writer made: the name without
/// quotes, as escaped, and the value as it stands. Text that is no such object has none. Linear.
template <class Member>
void for_each_member(std::string_view object, Member member) {
  if (!object.starts_with('{') || !object.ends_with('}')) return;
  std::size_t at = 1;
  while (at < object.size() && object[at] == '"') {
    const std::size_t colon = end_of_string(object, at);
    if (colon >= object.size() || object[colon] != ':') return;
    const std::string_view name = object.substr(at + 1, colon - at - 2);
    const std::size_t value = colon + 1;
    at = end_of_value(object, value);
    if (at >= object.size()) return;
    member(name, object.substr(value, at - value));
    ++at;
  }
}

}  // namespace feedmill
