// Records of stream:signals and its consumer groups (DESIGN §4).
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
  bool gone = false;  ///< trimmed since it was delivered: only the id is known
};

/// A position in the stream, as in a record's id: "1763690000000-3".
struct EventPlace {
  std::uint64_t milliseconds = 0, number = 0;

  auto operator<=>(const EventPlace&) const = default;  // NOLINT(modernize-use-nullptr): there is no 0 here
};
/// A missing or non-numeric part of `id` is 0.
EventPlace event_place(std::string_view id);
std::string to_string(const EventPlace& place);

/// Size of the event stream and lag of its consumer groups.
struct StreamFigures {
  std::uint64_t records = 0;
  std::uint64_t hard_limit = 0;  ///< trimmed at that length, even if groups lag (RELIABILITY L13)
  Milliseconds now{};
  struct Group {
    std::string name;
    std::uint64_t lag = 0;               ///< records not acknowledged; an upper bound if the server cannot tell
    std::optional<Milliseconds> oldest;  ///< when the oldest such record was written
  };
  std::vector<Group> groups;

  /// Whether a group has left a record unread for so long that an operator should check.
  bool lags(const Group& group) const { return group.oldest && now - *group.oldest > std::chrono::minutes(5); }
};

}  // namespace feedmill
