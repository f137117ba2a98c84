// What to do about a feed's subscription, and when again (WEBSUB §3, §4). Pure: `now` is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/websub/pushes.hpp"

namespace feedmill {

/// What is to be done.
struct PushStep {
  enum class Do {
    wait,         ///< nothing before `delay` is over
    forget,       ///< nothing ever
    subscribe,    ///< at `hub`, to `topic`: new, renewed, or in place of another
    unsubscribe,  ///< tell the hub of the task's subscription that it has ended
    leave,        ///< end it: it is not wanted any more
    lost,         ///< it has run out, or nobody verified: `note` says which; again after `delay`
    retry         ///< nobody verified, and what there is still runs: again after `delay`
  };
  Do what{};
  Milliseconds delay{};
  std::string hub, topic, note;
};

PushStep plan_push(const PushTask& task, Milliseconds now);

/// Lease and renewal after a hub has said for how long it will push, from now on (WEBSUB S8, L1). `lease_seconds`: its
/// words, "" = none. Renewal is spread by a phase of what is subscribed to (WEBSUB L5).
struct PushLease {
  Milliseconds lease{}, renew{};
};
PushLease push_lease(std::string_view lease_seconds, std::string_view topic);

/// Until a hub is asked again that could not be: 1 h · 2^k, at most 24 h, and not before it wants to be (WEBSUB S4).
Milliseconds hub_retry_after(std::uint32_t failures, Milliseconds retry_after);

/// Until a hub is asked after one that refused or could not be asked: at once while the feed names one that was not
/// tried in this round; then as push_retry_after() and hub_retry_after() say of the rounds (WEBSUB S11).
Milliseconds wait_for_next_hub(const PushTask& task, Milliseconds retry_after, bool refused);

inline constexpr Milliseconds push_pending_for = std::chrono::hours(1);  ///< WEBSUB S9

}  // namespace feedmill
