// Parameters of a live stream request: filter and position (OPERATIONS V1, V2). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "storage/records/event_record.hpp"
#include "storage/records/stream_records.hpp"

namespace feedmill {

/// Empty if malformed.
std::optional<EventPlace> read_place(std::string_view text);

struct LiveRequest {
  EventFilter filter;
  std::optional<EventPlace> after;  ///< none: from now on

  bool operator==(const LiveRequest&) const = default;
};

/// Why the request is rejected; one line for people.
struct LiveObjection {
  std::string detail;
};

/// `query`: `feed` and `channel`, repeatable; `type`, repeatable or with commas; `initial=1`; `last_event_id`, which
/// the Last-Event-ID header in `last_event_id` ("" = none) overrides. Ignores `topic` and `token`, which the caller
/// checks. Linear.
boost::system::result<LiveRequest, LiveObjection> read_live_request(std::string_view query,
                                                                    std::string_view last_event_id);

}  // namespace feedmill
