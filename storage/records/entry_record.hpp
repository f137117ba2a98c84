// Converts a parsed post into its stored form: the fields of Entry:<n> (DESIGN §3.1), their caps, their digest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/records/stored_snapshot.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Digest prefix of a post in which the document was cut off: values that the digest leaves out may be incomplete, so
/// the complete post counts as another version even if its texts are equal.
inline constexpr std::string_view cut_mark = "cut:";

/// The stored form of an entry, by the current sanitiser (its version is in `san_ver`). Empty values are left out;
/// values over their cap (SECURITY §3) are cut and named in the field `truncated`. Takes the entry's texts. Linear in
/// its size.
EntryRecord entry_record(Entry&& entry);

/// All entries of a document, with their guids when the feed is identified `by`; `former_guid` is set if it was
/// identified differently before. Indistinguishable entries are returned once, except those that share both guid and
/// link, which the store settles (identify() in storage/records/post_identity.hpp). Takes the texts of the feed's
/// entries. `known`: the source of Feed::known.
std::vector<EntryRecord> entry_records(Feed& feed, IdentifiedBy by, IdentifiedBy was, const StoredItems& known = {});

/// Whether a field of Entry:<n> belongs to the store and is never set by a document.
bool is_own_field(std::string_view name);

/// Digest of a version of a post, 12 characters: over every field that a document sets, without idle values (counters,
/// tracking, random numbers in URLs) and derived fields. Equal digests: no difference is worth writing (DESIGN §5).
/// `has_idle`: set if there are idle values.
std::string entry_digest(const Fields& fields, bool* has_idle = nullptr);
/// Whether two values of a field differ at most in idle values.
bool is_same_but_idle(std::string_view name, const std::string& one, const std::string& other);

/// The digest of builds before entry_digest(), 16 hex digits: over the texts that a reader would notice, with white
/// space folded, without tracking pixels and volatile parts of URLs. Posts of those builds keep it until they are
/// compared, and saved posts have it in `saved_over`.
std::string reader_digest(const Fields& fields);

/// Whether a stored digest, apart from `cut_mark`, is a reader_digest().
bool is_reader_digest(std::string_view digest);

// Posts beyond the newest `retention.texts` of a feed have no texts (RELIABILITY L34); `truncated` contains `texts`.

/// The fields that such a post lacks. Its `summary_text` stays.
inline constexpr std::array text_field_names{"content", "content_type", "summary", "summary_type"};
/// The word in `truncated`.
inline constexpr std::string_view texts_word = "texts";
/// Whether the texts of a stored post were dropped.
bool lacks_texts(const Fields& fields);
/// Drops the texts and marks the post in `truncated`, as commit.lua does. A post without texts stays unchanged.
void drop_texts(Fields& fields);
/// A post without its texts as it was before drop_texts(), if it had the texts of `other`.
Fields with_texts(Fields fields, const Fields& other);

/// The full text of a stored post without markup: of its content, or else of its summary.
std::string content_text(const Fields& fields);

// The fields of Entry:<n> (docs/DATA.md), one row each; the only list of them.

struct EntryField {
  enum class From : std::uint8_t {
    given,     ///< the document, or a program that saves a post
    document,  ///< only documents
    derived,   ///< derived from other fields
    store      ///< the store
  };
  enum class Holds : std::uint8_t {
    text,
    page,  ///< a URL that people open: is_safe_url()
    file,  ///< a URL that programs load by themselves: is_safe_file_url()
    json,
    number,
    time  ///< unix time; programs get RFC 3339
  };
  std::string_view name;
  From from = From::document;
  Holds holds = Holds::text;
};

namespace entry_field_rows {

using From = EntryField::From;
using Holds = EntryField::Holds;

/// Sorted by name.
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

/// Names of the rows with that origin.
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

/// All fields of a post, sorted by name.
inline constexpr const auto& entry_fields = entry_field_rows::rows;

/// Sorted names: fields that programs may set, and fields that only documents set.
inline constexpr const auto& given_field_names = entry_field_rows::names_from<EntryField::From::given>;
inline constexpr const auto& document_field_names = entry_field_rows::names_from<EntryField::From::document>;
/// Names of the store's own fields. Sorted.
inline constexpr const auto& store_field_names = entry_field_rows::names_from<EntryField::From::store>;

/// The fields that a post leaves out where another field says the same.
inline constexpr std::array implied_names{"authors", "canonical_url"};
/// What a field that is absent is known to be, because another one says it: `canonical_url` is then `link`, and
/// `authors` has the one name in `author` (docs/DATA.md). "" for other fields and for those that are present.
std::string implied_value(const Fields& fields, std::string_view name);
/// The fields with their implied values, sorted by name.
Fields with_implied(Fields fields);
/// Whether a field is present although another one implies its value.
bool is_implied(const Fields& fields, std::string_view name);
/// Drops the fields that with_implied() adds again.
void drop_implied(Fields& fields);

/// The field's row; nullptr if posts have no such field.
constexpr const EntryField* find_entry_field(std::string_view name) {
  const auto found = std::ranges::lower_bound(entry_fields, name, {}, &EntryField::name);
  return found != entry_fields.end() && found->name == name ? &*found : nullptr;
}

/// Whether the field, of a post or of a feed, holds JSON.
constexpr bool holds_json(std::string_view name) {
  const EntryField* const field = find_entry_field(name);
  return field != nullptr && field->holds == EntryField::Holds::json;
}

}  // namespace feedmill
