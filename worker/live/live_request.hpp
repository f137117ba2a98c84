// What a client of the live stream asks for, and where it goes on (OPERATIONS V1, V2). Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/records/event_filter.hpp"

namespace feedmill {

/// A place in the stream, as the id of an event says it: milliseconds, "-", number.
struct EventPlace {
  std::uint64_t milliseconds = 0, number = 0;

  auto operator<=>(const EventPlace&) const = default;
};
/// Nothing when the text is none.
std::optional<EventPlace> read_place(std::string_view text);
std::string to_string(const EventPlace& place);

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
/// which `last_event_id` (the header, "" = none) goes before. `token` is left to whoever decides on access. Linear.
boost::system::result<LiveRequest, LiveObjection> read_live_request(std::string_view query,
                                                                    std::string_view last_event_id);

}  // namespace feedmill
