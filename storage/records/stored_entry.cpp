#include "storage/records/stored_entry.hpp"

#include "storage/records/find_field.hpp"

namespace feedmill {

const std::string& StoredEntry::get(const std::string& field) const {
  static const std::string absent;
  const std::string* value = find_field(fields, field);
  return value == nullptr ? absent : *value;
}

std::vector<std::string> ids_of(const std::vector<StoredEntry>& entries) {
  std::vector<std::string> ids;
  for (const StoredEntry& entry : entries) ids.push_back(entry.id);
  return ids;
}

}  // namespace feedmill
