// A feed's record for readers: the hash Feed:<feed_url> (DESIGN §3).
#pragma once

#include "parsers/feed/feed.hpp"
#include "storage/records/event_record.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// title, description and their types unless text/plain, link, language, image, updated, format, san_ver …; without
/// empty values; long texts are cut, long lists dropped. `feed` must be normalised (normalise.hpp).
Fields feed_fields(const Feed& feed);

/// Difference between the stored record and the one read: fields to write ("" = remove), and `changed`, JSON {field:
/// [old, new]} for feed_modified, "" if a reader would not notice (DESIGN §4).
struct FeedChange {
  Fields write;
  std::string changed;
};
FeedChange change_of(const Fields& stored, const Fields& read, const EventDetail& detail = {});

/// The `data` of feed_created and feed_modified: JSON object of title, link and format.
std::string feed_data_json(const Fields& fields);

/// The `data` of feed_mended: names of the written fields that readers see.
std::string mended_data_json(const Fields& write);

/// FeedEvent::feed: the fields a reader would notice. "" if events contain no content, or if it is too long for an
/// event.
std::string feed_record_json(const Fields& fields, const EventDetail& detail);

}  // namespace feedmill
