// A record of the stream, read (DESIGN §4).
#pragma once

#include <optional>
#include <string>

#include "storage/records/stream_records.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// What an event says; what it does not say is "".
struct Event {
  std::string id{};    ///< its place in the stream
  std::string prev{};  ///< that of the one before it
  std::string type{};
  std::string entity_id{};  ///< of a post its key, of a feed its URL
  std::string feed_url{};
  std::string guid{};
  std::int64_t timestamp = 0;           ///< when it was written, unix seconds
  bool initial = false;                 ///< a post of a feed's first import
  bool continued = false;               ///< a later part of an event that is too long for one
  bool renamed = false;                 ///< `changed` names its link or its title
  std::optional<std::int64_t> score{};  ///< of a post: its place in the order
  Fields data{};                        ///< the texts in `data`: title, link, author, reason, from, to …
};

/// Absent when the record is none of ours: no JSON object with the members that every event has.
std::optional<Event> read_event(const EventRecord& record);

}  // namespace feedmill
