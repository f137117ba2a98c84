#include "storage/records/given_json.hpp"

#include <optional>
#include <string_view>

#include <boost/json.hpp>

#include "storage/records/entry_fields.hpp"
#include "storage/records/json_member.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// Whether `entry --json` prints a member that may not be given: from the document, derived, or counted by the store.
bool is_not_given(std::string_view name) {
  const EntryField* const field = find_entry_field(name);
  if (field != nullptr) return field->from != EntryField::From::given;
  return name == "cursor" || name == "id" || name == "schema";
}

/// The value of a member in its stored form; empty if it has the wrong type.
std::optional<std::string> field_text(const json::value& value) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_array()) return json::serialize(value);
  return std::nullopt;
}

}  // namespace

boost::system::result<GivenEntry, std::string> read_given_entry(const json::value& value, const std::string& feed_url,
                                                                const std::string& guid) {
  using Result = boost::system::result<GivenEntry, std::string>;
  const auto wrong = [](std::string what) { return Result(boost::system::in_place_error, std::move(what)); };
  if (!value.is_object()) return wrong("not a JSON object");
  const json::object& object = value.as_object();
  GivenEntry entry;
  entry.feed_url = feed_url.empty() ? string_member(object, "feed_url") : feed_url;
  entry.guid = guid.empty() ? string_member(object, "guid") : guid;
  if (entry.feed_url.empty() || entry.guid.empty()) return wrong("feed_url or guid is missing");
  const bool has_authors = object.if_contains("authors") != nullptr;
  for (const auto& [key, member] : object) {
    const std::string name(key);
    if (is_not_given(name)) continue;
    if (name == "author" && has_authors) continue;  // derived from `authors`
    const auto text = field_text(member);
    if (!text) return wrong(name + " must be a string");
    entry.fields.emplace_back(name, *text);
  }
  return entry;
}

}  // namespace feedmill
