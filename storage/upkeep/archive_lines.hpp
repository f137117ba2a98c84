// Checked access to the members of an archive line, which is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "parsers/text/numbers.hpp"
#include "storage/redis/byte_text.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

inline constexpr std::size_t most_fields_of_line = 200;

/// A malformed line; caught by the reader of lines.
struct BadLine {
  std::string text;
};

inline const boost::json::value& member(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const found = object.if_contains(name);
  if (found == nullptr) throw BadLine{"\"" + std::string(name) + "\" is missing"};
  return *found;
}

inline std::string bytes_of(const boost::json::value& value, std::string_view name) {
  auto bytes = read_byte_text(value);
  if (!bytes) throw BadLine{"\"" + std::string(name) + "\" is not a string"};
  return std::move(*bytes);
}

inline std::string text_of(const boost::json::object& object, std::string_view name) {
  return bytes_of(member(object, name), name);
}

inline std::vector<std::string> words_of(const boost::json::object& object, std::string_view name, std::size_t most) {
  const boost::json::array* const array = member(object, name).if_array();
  if (array == nullptr || array->size() > most)
    throw BadLine{"\"" + std::string(name) + "\" is not a list, or is too long"};
  std::vector<std::string> words;
  for (const boost::json::value& word : *array) words.push_back(bytes_of(word, name));
  return words;
}

inline Fields fields_of(const boost::json::object& object, std::string_view name,
                        std::size_t most = most_fields_of_line) {
  std::vector<std::string> words = words_of(object, name, 2 * most);
  if (words.size() % 2 != 0) throw BadLine{"\"" + std::string(name) + "\" has a name without a value"};
  Fields fields;
  for (std::size_t i = 0; i < words.size(); i += 2) fields.emplace_back(std::move(words[i]), std::move(words[i + 1]));
  return fields;
}

/// A whole number, not negative, as we write it.
inline std::int64_t whole(std::string_view text, std::string_view name, std::int64_t most = std::int64_t{1} << 50) {
  std::int64_t value = -1;
  if (!read_number(text, value) || value < 0 || value > most) {
    throw BadLine{"\"" + std::string(name) + "\" is not a number from 0 to " + std::to_string(most)};
  }
  return value;
}

inline std::uint64_t count_of(const boost::json::object& object, std::string_view name) {
  const boost::json::value& value = member(object, name);
  if (!value.is_int64() || value.as_int64() < 0) throw BadLine{"\"" + std::string(name) + "\" is not a count"};
  return static_cast<std::uint64_t>(value.as_int64());
}

}  // namespace feedmill
