#include "storage/records/stored_entry.hpp"

#include <algorithm>

#include "storage/records/feed_fields.hpp"
#include "storage/redis/utf8.hpp"

namespace feedmill {

const std::string& StoredEntry::get(const std::string& field) const {
  static const std::string absent;
  const std::string* value = find_field(fields, field);
  return value == nullptr ? absent : *value;
}

std::vector<std::string> ids_of(std::span<const StoredEntry> entries) {
  std::vector<std::string> ids;
  for (const StoredEntry& entry : entries) ids.push_back(entry.id);
  return ids;
}

std::vector<std::string> ids_of(std::span<const EntryCursor> places) {
  std::vector<std::string> ids;
  for (const EntryCursor& place : places) ids.push_back(place.id);
  return ids;
}

bool is_entry_id(std::string_view given) {
  const std::string_view number = given.substr(given.rfind(':') + 1);
  return !number.empty() && number.size() <= 15 && given.size() <= 256 && is_utf8(given) &&
         std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace feedmill
