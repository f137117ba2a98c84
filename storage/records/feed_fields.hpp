// A feed's record for readers: the hash Feed:<feed_url> (DESIGN §3).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "parsers/feed/feed.hpp"
#include "storage/records/event_record.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// The fields of a feed's record: title, description and their types unless text/plain, link, language, image, updated,
/// format, san_ver …; without empty values. Long texts are cut, long lists dropped. `feed` must be normalised
/// (normalise.hpp).
Fields feed_fields(const Feed& feed);

/// Difference between the stored record and the one read: fields to write ("" = remove), and `changed`, JSON {field:
/// [old, new]} for feed_modified, "" if a reader would not notice; `for_copies`: feed_mended is due if `changed`
/// is "", because copies of the store must change (DESIGN §4).
struct FeedChange {
  Fields write;
  std::string changed;
  bool for_copies = false;
};
FeedChange change_of(const Fields& stored, const Fields& read, const EventDetail& detail = {});

/// If the record read differs from the stored one only in idle values (counters, `published` by less than a day) and in
/// fields that change without events, puts the stored idle values back into `read`. Returns whether it did.
bool keep_idle(const Fields& stored, Fields& read);

/// The `data` of feed_created and feed_modified: JSON object of title, link and format.
std::string feed_data_json(const Fields& fields);

/// The `data` of feed_mended: names of the written fields, except those that change without events.
std::string mended_data_json(const Fields& write);

/// FeedEvent::feed: the whole record. "" if events contain no content, or if it is too long for an event.
std::string feed_record_json(const Fields& fields, const EventDetail& detail);

// Fields that posts and feeds share.

/// A link that a document gives outside its list of links.
struct NamedLink {
  std::string_view rel, href, type;
};

/// Selects the links for a post's or feed's field `links`.
struct LinkFields {
  std::span<const NamedLink> told;  ///< stored in other fields: left out
  std::span<const NamedLink> also;  ///< appended, unless the document's list has them
  bool enclosures = false;          ///< enclosures have a field of their own: left out
};

/// Authors, categories, contributors, image, license, links, media, publisher and rights of a normalised post or feed
/// (normalise.hpp), without empty values. Texts are plain. `links` contains neither its own page nor its first licence.
Fields shared_fields(const Common& common, const LinkFields& links);

// Small helpers for Fields and text, shared within storage/.

/// The field's value, null if absent; valid until `fields` changes. Linear: records have about a dozen fields.
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

}  // namespace feedmill
