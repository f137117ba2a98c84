// Whether a feed's pushes can be relied on: who was first, push or poll, and what follows for polling (WEBSUB §5).
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

struct PushOptions {
  bool on = false;  ///< hubs are subscribed to; else pushes count for nothing
  Milliseconds fallback_max = std::chrono::hours(24);
};

/// What a refresh, or a push that was written, has shown.
struct PushSight {
  Milliseconds now{};
  Milliseconds last_refresh{};  ///< the one before
  bool payload = false;         ///< no refresh: the content of a push was written
  std::uint32_t created = 0;
  bool overdue = false;       ///< one of these was published since that refresh, and over 10 minutes ago
  double new_per_week = 0;    ///< S of HTTP §3
  bool looked_again = false;  ///< it is the second look for a push (WEBSUB P6): what it found is that push's
};

struct PushVerdict {
  PushHealth health;
  std::string state;                              ///< of the subscription from now on
  bool pushed_first = false, poll_first = false;  ///< who brought what is new
};

/// How long after a poll the push of what it found counts as sent in time, and how old a post may be that a push has
/// yet to bring.
inline constexpr Milliseconds push_patience = std::chrono::minutes(10);

/// A push came since the last refresh: this one is its doing.
inline bool is_by_push(const FeedState& state) {
  return state.push.standing.last_push > state.last.at;
}

/// Nothing changes where there is no subscription that has been accepted.
PushVerdict watch_push(const PushStanding& standing, PushHealth health, const PushSight& sight,
                       const PushOptions& options);

/// When a subscription whose pushes do not come is tried again, after so many failures in a row.
Milliseconds push_retry_after(std::uint32_t failures);

}  // namespace feedmill
