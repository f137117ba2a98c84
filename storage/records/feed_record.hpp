// Registered feeds: what is known of one, and what became of a wish to change it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// A feed to register.
struct NewFeed {
  std::string feed_url{};     ///< canonical
  Milliseconds after{};       ///< first due this long from now
  std::string settings{};     ///< JSON object, "" for none
  std::string title{};        ///< until the feed has been read; "" for none
  bool for_channels = false;  ///< nobody wants it for itself (RELIABILITY L19)
};

/// What is known of a registered feed.
struct FeedRecord {
  std::string feed_url;
  FeedState state;
  Fields feed;                      ///< Feed:<feed_url>: what readers see
  std::optional<Milliseconds> due;  ///< since when or until then it waits; absent when it is paused
  /// It is due and waits in the line of its host's gate (HTTP H1), behind so many others.
  struct InLine {
    std::uint64_t ahead = 0;
    Milliseconds next_start{};  ///< when the first of the line may start, as far as is known
  };
  std::optional<InLine> in_line;
  std::string claim;  ///< "" when nobody refreshes it
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< entry_bytes() of them together, as the scripts count it
};

/// What became of a wish to refresh a feed now (RELIABILITY L10, HTTP P22).
struct Wake {
  enum class Result {
    due,        ///< it is due at `at`
    noted,      ///< it is being refreshed; it will be due again right after
    too_early,  ///< the manual floor or a Retry-After holds until `at`
    paused,     ///< only `resume` brings it back
    unknown     ///< no such feed
  };
  Result result{};
  Milliseconds at{};
};

/// A place in a list of feeds: behind so many of that score.
struct FeedPlace {
  std::int64_t score = 0;
  std::uint64_t behind = 0;

  bool operator==(const FeedPlace&) const = default;
};

/// A part of a list of feeds.
struct FeedPage {
  std::vector<FeedRecord> feeds;
  std::uint64_t total = 0;        ///< in the list, wanted or not
  std::uint64_t looked_at = 0;    ///< of them for this part
  std::optional<FeedPlace> next;  ///< absent at the end of the list
};

/// What became of a wish to pause a feed.
enum class Paused { paused, already, unknown };

/// What became of a wish to let a paused feed go on.
struct Resumed {
  enum class Result { resumed, running, unknown };  ///< running: it was not paused
  Result result{};
  Milliseconds due{};
};

/// A feed to let go on, so long from now at the earliest.
struct ResumedFeed {
  std::string feed_url;
  Milliseconds after{};
};

/// What became of a change of a feed's settings.
enum class SettingsChange { done, outdated, unknown };

/// What became of a wish to move a feed (HTTP R8).
enum class MoveResult {
  moved,
  same,     ///< that is what is requested already
  unknown,  ///< no such feed
  taken,    ///< the new URL is a feed of its own
  nothing,  ///< undo: it was not moved within 90 days
  busy      ///< somebody else moved it at the same time: look and try again
};

}  // namespace feedmill
