// Iterates over the members of a stored JSON object as text: `extensions` and `media`, written by document_json.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/json/object.hpp>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Position after the closing quote of a JSON string of our own writer; its opening quote is at `quote`.
inline std::size_t end_of_string(std::string_view json, std::size_t quote) {
  std::size_t end = quote + 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
  return end + 1;
}

/// Position of the comma or bracket that follows the value at `at`; the size of `json` or more if there is none.
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

/// Calls `member(name, value)` for each member of `object`, JSON text of our own writer: the name without quotes, still
/// escaped, and the raw value. Anything but such an object has no members. Linear.
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

// Safe access to members of JSON objects that others may have written.

/// The string member `name`, "" if it is missing or not a string. Valid until `object` changes.
inline std::string_view string_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

/// The member `name` as a whole number from 0; empty if it is missing or not one.
inline std::optional<std::uint64_t> whole_member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const found = object.if_contains(name);
  if (found == nullptr || !found->is_number()) return {};
  boost::system::error_code not_whole;
  const auto number = found->to_number<std::uint64_t>(not_whole);
  return not_whole ? std::optional<std::uint64_t>() : number;
}

/// The time in the member `timestamp`, which is in seconds; 0 if there is none.
inline Milliseconds timestamp_of(const boost::json::object& object) {
  const boost::json::value* const found = object.if_contains("timestamp");
  return Milliseconds(found != nullptr && found->is_int64() ? found->get_int64() * 1000 : 0);
}

}  // namespace feedmill
