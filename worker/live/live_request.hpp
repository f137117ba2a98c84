// What a client of the live stream asks for, and where it goes on (OPERATIONS V1, V2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/records/event_filter.hpp"
#include "storage/records/stream_records.hpp"

namespace feedmill {

/// Nothing when the text is none.
std::optional<EventPlace> read_place(std::string_view text);

struct LiveRequest {
  EventFilter filter;
  std::optional<EventPlace> after;  ///< nothing: from now on

  bool operator==(const LiveRequest&) const = default;
};

/// Why it is not served; for people, one line.
struct LiveObjection {
  std::string detail;
};

/// `query`: `feed` and `channel`, each as often as needed; `type`, so too or with commas; `initial=1`; `last_event_id`,
/// which `last_event_id` (the header, "" = none) goes before. `topic` and `token` are left to whoever decides on
/// access. Linear.
boost::system::result<LiveRequest, LiveObjection> read_live_request(std::string_view query,
                                                                    std::string_view last_event_id);

}  // namespace feedmill
