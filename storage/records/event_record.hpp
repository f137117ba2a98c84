// Parses a record of the event stream (DESIGN §4).
#pragma once

#include <optional>
#include <string>

#include "storage/records/stream_records.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A parsed event; absent members are "".
struct Event {
  std::string id{};    ///< its id in the stream
  std::string prev{};  ///< id of the event before it
  std::string type{};
  std::string entity_id{};  ///< a post's key, or a feed's URL
  std::string feed_url{};
  std::string guid{};
  std::int64_t timestamp = 0;           ///< when it was written, unix seconds
  bool initial = false;                 ///< a post of a feed's first import
  bool continued = false;               ///< a later part of an event that was split because of its size
  bool renamed = false;                 ///< `changed` names the feed's link or title
  std::optional<std::int64_t> score{};  ///< of a post: its score in the feed's order
  Fields data{};                        ///< the texts in `data`: title, link, author, reason, from, to …
};

/// Empty if the record is not a JSON object with the members that every event has.
std::optional<Event> read_event(const EventRecord& record);

}  // namespace feedmill
