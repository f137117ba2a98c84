// Parses a record of the event stream (DESIGN §4).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/records/commit.hpp"
#include "storage/records/stream_records.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A parsed event; absent members are "".
struct Event {
  std::string id{};    ///< its id in the stream
  std::string prev{};  ///< id of the event before it
  std::string type{};
  std::string entity_id{};  ///< a post's key, or a feed's URL
  std::string feed_url{};
  std::string guid{};
  std::int64_t timestamp = 0;           ///< when it was written, unix seconds
  bool initial = false;                 ///< a post of a feed's first import
  bool continued = false;               ///< a later part of an event that was split because of its size
  bool renamed = false;                 ///< `changed` names the feed's link or title
  std::optional<std::int64_t> score{};  ///< of a post: its score in the feed's order
  Fields data{};                        ///< the texts in `data`: title, link, author, reason, from, to …
};

/// Empty if the record is not a JSON object with the members that every event has.
std::optional<Event> read_event(const EventRecord& record);

// How much of a post or feed its events contain (DESIGN §4).

struct EventDetail {
  std::size_t changed_max = 512;  ///< longest value in `changed`, bytes; a longer one is reported by size
  bool content = false;           ///< events of posts contain the whole post
  std::size_t content_max = std::size_t{64} << 10U;  ///< largest post (entry_bytes()); a larger one is reported by size
  bool content_text = false;                         ///< with `content`: add the post's text without markup

  /// Limit of the posts that diff_entries() shows in full, bytes.
  std::size_t shown_up_to() const { return content ? content_max : 0; }
};

// The JSON of events (DESIGN §4) without the head that the script adds: seq, prev, entity_id.

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

/// The JSON after `"entity_id":…,` of post_created or post_modified, or of post_mended for a quiet write; ends with
/// "}". With `detail.content` the last member is `post`, or `post_bytes` if the post is too large; commit.lua relies on
/// that.
std::string post_event(const Commit& commit, const EntryWrite& write, std::int64_t now_seconds,
                       const EventDetail& detail = {});

/// The JSON after `"entity_id":…,` of an event about the feed.
std::string feed_event(const Commit& commit, const FeedEvent& event, std::int64_t now_seconds);

/// {field: [old, new]} for `changed`; values over `longest` bytes as {field: {"old_bytes":…,"new_bytes":…}}. "" =
/// absent.
std::string changes_json(const Fields& old, const Fields& now, std::size_t longest);

// Selection of the events that leave the store (DESIGN §4).

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
