// Small helpers for Fields and text, shared within storage/.
#pragma once

#include <string>
#include <string_view>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The field's value, null if absent; valid as long as `fields` is. Linear: records have about a dozen fields.
inline const std::string* find_field(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

/// The field's value, "" if absent.
inline std::string_view value_of(const Fields& fields, std::string_view name) {
  const std::string* value = find_field(fields, name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

/// The longest prefix of `text` (UTF-8) within `cap` bytes that ends with a complete character.
inline std::string_view cut_text(std::string_view text, std::size_t cap) {
  if (text.size() <= cap) return text;
  while (cap > 0 && (static_cast<unsigned char>(text[cap]) & 0xC0U) == 0x80U) --cap;
  return text.substr(0, cap);
}

}  // namespace feedmill
