// `feedmill tail`: events as they come, without a hole (DESIGN §4).
#pragma once

#include "storage/records/stream_records.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {

/// An event for people, one line: its time, type, feed or post.
std::string signal_line(const EventRecord& record);

/// An event for programs: the record's object with `schema` in front.
std::string signal_json(const EventRecord& record);

}  // namespace feedmill
