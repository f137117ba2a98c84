// What to do about a feed's subscription, and when (WEBSUB §3, §4). Pure: `now` is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/queues/pushes.hpp"

namespace feedmill {

/// The next step for a subscription.
struct PushStep {
  enum class Do {
    wait,         ///< nothing until `delay` is over
    forget,       ///< nothing, permanently
    subscribe,    ///< at `hub`, to `topic`: new, renewed, or replacing another
    unsubscribe,  ///< notify the hub of the task's subscription that it has ended
    leave,        ///< end it: it is no longer needed
    lost,         ///< expired, or not verified (see `note`): retry after `delay`
    retry         ///< not verified, but the existing one is still active: retry after `delay`
  };
  Do what{};
  Milliseconds delay{};
  std::string hub, topic, note;
};

PushStep plan_push(const PushTask& task, Milliseconds now);

/// Lease and renewal, counted from now, after a hub stated its lease (WEBSUB §4). `lease_seconds`: the hub's value,
/// "" = none. A phase of the topic spreads renewals.
struct PushLease {
  Milliseconds lease{}, renew{};
};
PushLease push_lease(std::string_view lease_seconds, std::string_view topic);

/// Delay before retrying a hub that could not be reached: 1 h · 2^k, at most 24 h, and at least its Retry-After (WEBSUB
/// S4).
Milliseconds hub_retry_after(std::uint32_t failures, Milliseconds retry_after);

/// Delay before the next hub after one refused or could not be reached: 0 while the feed advertises hubs not tried in
/// this round; then by rounds as in push_retry_after() and hub_retry_after() (WEBSUB S4).
Milliseconds wait_for_next_hub(const PushTask& task, Milliseconds retry_after, bool refused);

inline constexpr Milliseconds push_pending_for = std::chrono::hours(1);  ///< WEBSUB S7

}  // namespace feedmill
