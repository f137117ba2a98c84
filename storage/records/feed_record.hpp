// Registered feeds, and the results of requests to change one.
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
  std::string title{};        ///< until the feed is read; "" for none
  bool for_channels = false;  ///< added only as a member of channels (RELIABILITY L19)
};

/// A registered feed.
struct FeedRecord {
  std::string feed_url;
  FeedState state;
  Fields feed;                      ///< Feed:<feed_url>: what readers see
  std::optional<Milliseconds> due;  ///< its due time; absent when it is paused
  /// It is due and queued in the line of its host's gate (HTTP H1).
  struct InLine {
    std::uint64_t ahead = 0;
    Milliseconds next_start{};  ///< when the first of the line may start, if known
  };
  std::optional<InLine> in_line;
  std::string claim;  ///< "" if no worker refreshes it
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< total entry_bytes(), as the scripts count it
};

/// Result of a request to refresh a feed now (RELIABILITY L10, HTTP P22).
struct Wake {
  enum class Result {
    due,        ///< due at `at`
    noted,      ///< it is being refreshed and will be due again right afterwards
    too_early,  ///< the manual floor or a Retry-After holds until `at`
    paused,     ///< only `resume` reactivates it
    unknown     ///< no such feed
  };
  Result result{};
  Milliseconds at{};
};

/// A position in a list of feeds: past the first `behind` feeds of that score.
struct FeedPlace {
  std::int64_t score = 0;
  std::uint64_t behind = 0;

  bool operator==(const FeedPlace&) const = default;
};

/// A page of a list of feeds.
struct FeedPage {
  std::vector<FeedRecord> feeds;
  std::uint64_t total = 0;        ///< feeds in the list, matching or not
  std::uint64_t looked_at = 0;    ///< feeds examined for this page
  std::optional<FeedPlace> next;  ///< absent at the end of the list
};

/// Result of a request to pause a feed.
enum class Paused { paused, already, unknown };

/// Result of a request to resume a paused feed.
struct Resumed {
  enum class Result { resumed, running, unknown };  ///< running: it was not paused
  Result result{};
  Milliseconds due{};
};

/// A feed to resume, due no sooner than `after` from now.
struct ResumedFeed {
  std::string feed_url;
  Milliseconds after{};
};

/// Result of a change of a feed's settings.
enum class SettingsChange { done, outdated, unknown };

/// Result of a request to move a feed (HTTP R8).
enum class MoveResult {
  moved,
  same,     ///< it is already fetched from there
  unknown,  ///< no such feed
  taken,    ///< the new URL is another feed
  nothing,  ///< undo: not moved within 90 days
  busy      ///< moved concurrently: read it again and retry
};

}  // namespace feedmill
