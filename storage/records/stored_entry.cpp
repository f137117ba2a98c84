#include "storage/records/stored_entry.hpp"

#include "storage/records/find_field.hpp"

namespace feedmill {

const std::string& StoredEntry::get(const std::string& field) const {
  static const std::string absent;
  const std::string* value = find_field(fields, field);
  return value == nullptr ? absent : *value;
}

}  // namespace feedmill
