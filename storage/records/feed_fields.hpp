// What readers get to know of a feed: the hash Feed:<feed_url> (DESIGN §3).
#pragma once

#include "parsers/feed/feed.hpp"
#include "storage/records/event_detail.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// title, description and their types where they are not text/plain, link, language, image, updated, format, san_ver …;
/// empty values are left out, long texts cut, long lists dropped. `feed` has passed through normalise.hpp.
Fields feed_fields(const Feed& feed);

/// How the stored record becomes the new one: what to write ("" = remove), and whether a reader would notice, which is
/// what feed_modified is for (DESIGN §4). `changed` is JSON {field: [old, new]}, "" when a reader would not.
struct FeedChange {
  Fields write;
  std::string changed;
};
FeedChange change_of(const Fields& stored, const Fields& read, const EventDetail& detail = {});

/// JSON object with the title, link and format: the `data` of feed_created and feed_modified.
std::string feed_data_json(const Fields& fields);

/// The `data` of feed_mended: names of what a reader sees and is written.
std::string mended_data_json(const Fields& write);

/// FeedEvent::feed of a feed's record with these fields: what a reader would notice. "" where events tell no content,
/// or when it is longer than an event may tell.
std::string feed_record_json(const Fields& fields, const EventDetail& detail);

}  // namespace feedmill
