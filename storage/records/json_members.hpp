// The members of a stored JSON object, as text: `extensions` and `media` as document_json.hpp writes them.
#pragma once

#include <string_view>

namespace feedmill {

/// Calls `member(name, value)` for each member of `object`, JSON text that our own writer made: the name without
/// quotes, as escaped, and the value as it stands. Text that is no such object has none. Linear.
template <class Member>
void for_each_member(std::string_view object, Member member) {
  if (!object.starts_with('{') || !object.ends_with('}')) return;
  std::size_t at = 1;
  const auto string_end = [&](std::size_t quote) {  // of the closing quote
    std::size_t end = quote + 1;
    while (end < object.size() && object[end] != '"') end += object[end] == '\\' ? 2 : 1;
    return end;
  };
  while (at < object.size() && object[at] == '"') {
    const std::size_t name_end = string_end(at);
    if (name_end + 1 >= object.size() || object[name_end + 1] != ':') return;
    const std::string_view name = object.substr(at + 1, name_end - at - 1);
    const std::size_t value = name_end + 2;
    int depth = 0;
    for (at = value; at < object.size(); ++at) {
      const char c = object[at];
      if (c == '"') at = string_end(at);
      if (c == '{' || c == '[') ++depth;
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '}' || c == ']') --depth;
    }
    if (at >= object.size()) return;
    member(name, object.substr(value, at - value));
    ++at;
  }
}

}  // namespace feedmill
