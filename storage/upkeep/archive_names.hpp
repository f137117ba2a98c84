// Names of entries in archives: without the key prefix, which differs between stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "parsers/text/numbers.hpp"
#include "storage/records/json_member.hpp"
#include "storage/store/keys.hpp"

namespace feedmill {

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

}  // namespace feedmill
