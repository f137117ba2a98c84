// `feedmill tail`: prints events as they arrive, without gaps (DESIGN §4).
#pragma once

#include "storage/records/stream_records.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// An event as one line of text: time, type, feed or post.
std::string signal_line(const EventRecord& record);

/// An event as JSON: the record's object with `schema` first.
std::string signal_json(const EventRecord& record);

}  // namespace feedmill
