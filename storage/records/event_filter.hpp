// Selection of the events that leave the store (DESIGN §4).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/records/event_record.hpp"

namespace feedmill {

/// Event types that leave the store. The others are for replicas of the store or for the client that made a request.
inline constexpr std::array<std::string_view, 14> outside_event_types{
    "post_created", "post_modified", "post_deleted",   "post_same_as", "feed_created", "feed_modified", "feed_moved",
    "feed_removed", "feed_failing",  "feed_recovered", "feed_gone",    "feed_rekeyed", "feed_gap",      "feed_paused"};
bool is_outside_type(std::string_view type);

/// A selection of these events. An empty list selects all; feeds and channels together: events that match either.
struct EventFilter {
  std::vector<std::string> feeds{};     ///< URLs
  std::vector<std::string> channels{};  ///< uids; matches the feeds in them at that time
  std::vector<std::string> types{};     ///< of outside_event_types
  bool initial = false;                 ///< include posts of a feed's first import

  bool operator==(const EventFilter&) const = default;

  /// Whether the events of every feed match.
  bool of_all_feeds() const { return feeds.empty() && channels.empty(); }
  /// `holding`: the channels that contain the event's feed; used only if `channels` is not empty.
  bool wants(const Event& event, std::span<const std::string> holding) const;
  /// Checks only the type and `initial`, for any feed.
  bool wants_kind(const Event& event) const;
};

/// A JSON object with the members that are not empty; read_filter() reads it back.
std::string to_json(const EventFilter& filter);
/// Reads the text of to_json(); unreadable members count as empty.
EventFilter read_filter(std::string_view json);

/// Checks a client's filter against its bounds: "", or an error message for people.
std::string objection_to(const EventFilter& filter);

}  // namespace feedmill
