// The records of stream:signals, and who reads them in groups (DESIGN §4).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/values.hpp"

namespace feedmill {

/// A record of stream:signals: `json` is the event object of DESIGN §4.
struct EventRecord {
  std::string id, type, json;
  bool gone = false;  ///< trimmed away since it was handed out: only the id is known
};

/// A place in the stream, as the id of a record says it: "1763690000000-3".
struct EventPlace {
  std::uint64_t milliseconds = 0, number = 0;

  auto operator<=>(const EventPlace&) const = default;  // NOLINT(modernize-use-nullptr): there is no 0 here
};
/// What is missing of `id`, or is no number, is 0.
EventPlace event_place(std::string_view id);
std::string to_string(const EventPlace& place);

/// The stream of events and who reads it in groups.
struct StreamFigures {
  std::uint64_t records = 0;
  std::uint64_t hard_limit = 0;  ///< trimmed there whoever lags (RELIABILITY L13)
  Milliseconds now{};
  struct Group {
    std::string name;
    std::uint64_t lag = 0;               ///< records not acknowledged; at most that, where the server cannot tell
    std::optional<Milliseconds> oldest;  ///< when the oldest of them was written
  };
  std::vector<Group> groups;

  /// Whether a group has left a record unread for so long that somebody should look.
  bool lags(const Group& group) const { return group.oldest && now - *group.oldest > std::chrono::minutes(5); }
};

}  // namespace feedmill
