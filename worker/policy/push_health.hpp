// Whether a feed's pushes are reliable: whether push or poll delivers first, and the effect on polling (WEBSUB §5).
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Configuration of pushes.
struct PushOptions {
  bool on = false;  ///< subscribe to hubs; if off, pushes are ignored
  Milliseconds fallback_max = std::chrono::hours(24);
};

/// Observations of a refresh, or of a push that was written.
struct PushSight {
  Milliseconds now{};
  Milliseconds last_refresh{};  ///< the previous one
  bool payload = false;         ///< not a refresh: a push's content was written
  std::uint32_t created = 0;
  bool overdue = false;       ///< a created post was published since last_refresh and over 10 minutes ago
  double new_per_week = 0;    ///< S of HTTP §3
  bool looked_again = false;  ///< this is the second look for a push (WEBSUB P6), which is credited with the posts
};

/// Result of watch_push().
struct PushVerdict {
  PushHealth health;
  std::string state;                              ///< new state of the subscription
  bool pushed_first = false, poll_first = false;  ///< what delivered new content first
};

/// How long after a poll a push of the same posts still counts as in time, and how long a post's push may be pending.
inline constexpr Milliseconds push_patience = std::chrono::minutes(10);

/// Whether a push arrived since the last refresh and so caused this one.
inline bool is_by_push(const FeedState& state) {
  return state.push.standing.last_push > state.last.at;
}

/// Updates a subscription's health and state; no-op unless the subscription has been accepted.
PushVerdict watch_push(const PushStanding& standing, PushHealth health, const PushSight& sight,
                       const PushOptions& options);

/// Delay until a subscription without pushes is retried, after `failures` consecutive ones.
Milliseconds push_retry_after(std::uint32_t failures);

}  // namespace feedmill
