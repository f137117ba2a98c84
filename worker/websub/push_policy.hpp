// Decides what to do about a feed's subscription, and when (WEBSUB §3, §4). Pure: `now` is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/queues/pushes.hpp"

namespace feedmill {

/// The next step for a subscription.
struct PushStep {
  enum class Do {
    wait,         ///< check again after `delay`
    forget,       ///< nothing, permanently
    subscribe,    ///< subscribe at `hub` to `topic`: a new, renewed or replacement subscription
    unsubscribe,  ///< unsubscribe the task's subscription at `hub`
    leave,        ///< end the subscription, which is not needed any longer
    lost,         ///< the subscription expired or was not verified (see `note`): retry after `delay`
    retry         ///< not verified, but the previous subscription is still active: retry after `delay`
  };
  Do what{};
  Milliseconds delay{};
  std::string hub, topic, note;
};

/// The next step for a task that is due at `now`, which is Redis' time.
PushStep plan_push(const PushTask& task, Milliseconds now);

/// Lease and renewal time, both counted from now. `lease_seconds`: the lease stated by the hub, "" if none (WEBSUB §4).
/// The hash of `topic` spreads renewals over time (WEBSUB §4).
struct PushLease {
  Milliseconds lease{}, renew{};
};
PushLease push_lease(std::string_view lease_seconds, std::string_view topic);

/// Delay before retrying a hub that could not be reached: 1 h · 2^`failures`, at most 24 h, but at least the hub's
/// Retry-After, capped at 7 days (WEBSUB S4).
Milliseconds hub_retry_after(std::uint32_t failures, Milliseconds retry_after);

/// Delay before trying the next hub after one refused or could not be reached: 0 while advertised hubs are untried in
/// this round; otherwise push_retry_after() or hub_retry_after() of the number of rounds (WEBSUB S4).
Milliseconds wait_for_next_hub(const PushTask& task, Milliseconds retry_after, bool refused);

inline constexpr Milliseconds push_pending_for = std::chrono::hours(1);  ///< WEBSUB S7

}  // namespace feedmill
