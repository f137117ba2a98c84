// The fields of Entry:<n> (docs/DATA.md), one row each, for all code that goes through them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace feedmill {

struct EntryField {
  enum class From : std::uint8_t {
    given,     ///< the document, or a program that saves a post
    document,  ///< the document alone
    derived,   ///< other fields
    store      ///< the store itself
  };
  enum class Holds : std::uint8_t {
    text,
    page,  ///< an address that people open: is_safe_url()
    file,  ///< an address that programs load by themselves: is_safe_file_url()
    json,
    number,
    time  ///< unix time that programs get as RFC 3339
  };
  std::string_view name;
  From from = From::document;
  Holds holds = Holds::text;
};

namespace entry_field_rows {

using From = EntryField::From;
using Holds = EntryField::Holds;

/// In the order of their names.
inline constexpr auto rows = std::to_array<EntryField>({
    {"author", From::given, Holds::text},
    {"authors", From::given, Holds::json},
    {"banner_image", From::document, Holds::file},
    {"bytes", From::store, Holds::number},
    {"canonical_url", From::derived, Holds::text},
    {"categories", From::given, Holds::json},
    {"comment_api", From::document, Holds::page},
    {"comments", From::given, Holds::page},
    {"comments_feed", From::document, Holds::page},
    {"content", From::given, Holds::text},
    {"content_type", From::given, Holds::text},
    {"contributors", From::document, Holds::json},
    {"date_created", From::document, Holds::text},
    {"date_expired", From::document, Holds::text},
    {"date_published", From::given, Holds::text},
    {"date_updated", From::given, Holds::text},
    {"digest", From::store, Holds::text},
    {"enclosures", From::given, Holds::json},
    {"extensions", From::document, Holds::json},
    {"external_url", From::document, Holds::page},
    {"feed_url", From::store, Holds::text},
    {"first_seen", From::store, Holds::time},
    {"guid", From::store, Holds::text},
    {"image", From::document, Holds::file},
    {"language", From::given, Holds::text},
    {"last_changed", From::store, Holds::time},
    {"license", From::document, Holds::page},
    {"link", From::given, Holds::page},
    {"links", From::document, Holds::json},
    {"media", From::document, Holds::json},
    {"publisher", From::document, Holds::json},
    {"rev", From::store, Holds::number},
    {"rights", From::document, Holds::text},
    {"san_ver", From::derived, Holds::number},
    {"saved", From::store, Holds::time},
    {"saved_over", From::store, Holds::text},
    {"source", From::document, Holds::json},
    {"summary", From::given, Holds::text},
    {"summary_text", From::derived, Holds::text},
    {"summary_type", From::given, Holds::text},
    {"timestamp", From::store, Holds::number},
    {"title", From::given, Holds::text},
    {"title_type", From::given, Holds::text},
    {"truncated", From::derived, Holds::text},
    {"via", From::document, Holds::text},
});

/// The names of the rows that come `from` there.
template <EntryField::From from>
inline constexpr auto names_from = [] {
  std::array<std::string_view, std::ranges::count(rows, from, &EntryField::from)> names;
  auto next = names.begin();
  for (const EntryField& row : rows) {
    if (row.from == from) *next++ = row.name;
  }
  return names;
}();

}  // namespace entry_field_rows

/// All fields of a post, in the order of their names.
inline constexpr const auto& entry_fields = entry_field_rows::rows;

/// The names of those that may be given; of those that come from documents alone. Sorted.
inline constexpr const auto& given_field_names = entry_field_rows::names_from<EntryField::From::given>;
inline constexpr const auto& document_field_names = entry_field_rows::names_from<EntryField::From::document>;
/// Those of the store's own. Sorted.
inline constexpr const auto& store_field_names = entry_field_rows::names_from<EntryField::From::store>;

/// The row of that name; nullptr when no field of a post is called so.
constexpr const EntryField* find_entry_field(std::string_view name) {
  const auto found = std::ranges::lower_bound(entry_fields, name, {}, &EntryField::name);
  return found != entry_fields.end() && found->name == name ? &*found : nullptr;
}

/// Whether the field of that name, of a post or of a feed, holds JSON.
constexpr bool holds_json(std::string_view name) {
  const EntryField* const field = find_entry_field(name);
  return field != nullptr && field->holds == EntryField::Holds::json;
}

}  // namespace feedmill
