// Which events somebody outside is told of (DESIGN §4).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/records/event_record.hpp"

namespace feedmill {

/// The types of events that leave the store. Others are for who keeps a copy of it, or for the program that asked.
inline constexpr std::array<std::string_view, 14> outside_event_types{
    "post_created", "post_modified", "post_deleted",   "post_same_as", "feed_created", "feed_modified", "feed_moved",
    "feed_removed", "feed_failing",  "feed_recovered", "feed_gone",    "feed_rekeyed", "feed_gap",      "feed_paused"};
bool is_outside_type(std::string_view type);

/// What is wanted of them. Empty: nothing is asked of that kind. Feeds and channels together: any of them.
struct EventFilter {
  std::vector<std::string> feeds{};     ///< URLs
  std::vector<std::string> channels{};  ///< uids: of the feeds that are in them at the time
  std::vector<std::string> types{};     ///< of outside_event_types
  bool initial = false;                 ///< posts of a feed's first import as well

  bool operator==(const EventFilter&) const = default;

  /// Every feed's events.
  bool of_all_feeds() const { return feeds.empty() && channels.empty(); }
  /// `holding`: the channels that its feed is in; looked at when `channels` names some.
  bool wants(const Event& event, std::span<const std::string> holding) const;
  /// The same of type and first imports alone, whatever the feed.
  bool wants_kind(const Event& event) const;
};

/// A JSON object with the members that are not empty; read_filter() reads it back.
std::string to_json(const EventFilter& filter);
/// Nothing but our own texts comes here: what cannot be read wants nothing of that kind.
EventFilter read_filter(std::string_view json);

/// Bounds of a filter that somebody asks for; "" when it keeps them, else what is wrong, for people.
std::string objection_to(const EventFilter& filter);

}  // namespace feedmill
