// Checked access to the members of an archive line, which is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "parsers/text/strings.hpp"
#include "storage/records/json_members.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/redis/values.hpp"
#include "storage/store/deployment.hpp"
#include "storage/store/keys.hpp"

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

// Names of entries in archives: without the key prefix, which differs between stores.

/// "Entry:51" for "Entry:51" or "any:{p003.a}:Entry:51"; empty for anything but an entry's id.
inline std::optional<std::string> archive_name(std::string_view id) {
  const std::string entries = Keys("").entries();
  const std::size_t start = id.rfind(entries);
  std::uint64_t number = 0;
  if (start == id.npos || !read_number(id.substr(start + entries.size()), number)) return std::nullopt;
  return std::string(id.substr(start));
}

/// A stored notice with its entity_id replaced by `name(entity_id, feed_url)`; unchanged if it has none.
template <class Name>
std::string with_entry(const std::string& notice, const Name& name) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(notice, error);
  if (error || !value.is_object()) return notice;
  boost::json::object& object = value.as_object();
  const std::string id(string_member(object, "entity_id")), feed_url(string_member(object, "feed_url"));
  if (id.empty()) return notice;
  object["entity_id"] = name(id, feed_url);
  return boost::json::serialize(value);
}

// Imports the `key` lines of an archive: read marks, the order of channels, notices, rules and host settings.

class ArchiveKeys {
 public:
  /// `stores` must outlive this object and be open.
  explicit ArchiveKeys(const Deployment& stores) : stores_(stores) {}

  /// Imports a `key` line; only checks it unless `is_written`. Safe to repeat. Throws BadLine.
  StoreResult<void> take(const boost::json::object& line, bool is_written);

 private:
  Store& home_of(const std::string& user) const;
  StoreResult<void> marks(const boost::json::object& line, const std::string& uid,
                          const std::vector<std::string>& words, bool is_written);
  std::string with_entry_here(const std::string& notice) const;
  StoreResult<void> order(const std::string& user, const std::vector<std::string>& ids);
  StoreResult<void> rules(const std::string& user, const std::vector<std::string>& words, bool is_written);

  const Deployment& stores_;
};

}  // namespace feedmill
