// Small readings of Fields and text that the parts of storage/ share.
#pragma once

#include <string>
#include <string_view>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The value of that name, null when there is none; lives as long as `fields`. Linear: records have a dozen fields.
inline const std::string* find_field(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

/// The value of that name, "" when there is none.
inline std::string_view value_of(const Fields& fields, std::string_view name) {
  const std::string* value = find_field(fields, name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

/// The longest start of `text` (UTF-8) within `cap` bytes that ends with a whole character.
inline std::string_view cut_text(std::string_view text, std::size_t cap) {
  if (text.size() <= cap) return text;
  while (cap > 0 && (static_cast<unsigned char>(text[cap]) & 0xC0U) == 0x80U) --cap;
  return text.substr(0, cap);
}

}  // namespace feedmill
