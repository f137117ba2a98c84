// When a feed is due next, and why (HTTP §3). Pure: `now` is an argument, so that days of a million feeds can be
// simulated and every due time explained.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/feed/feed.hpp"
#include "storage/redis/values.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/words/explanation.hpp"

namespace feedmill {

/// The operator's limits.
struct ScheduleOptions {
  Milliseconds min_floor = std::chrono::minutes(10);  ///< freshness may lower the floor to this (HTTP P6)
  Milliseconds floor = std::chrono::hours(1);
  Milliseconds ceiling = std::chrono::hours(24);
};

/// A document's statements about its schedule (HTTP P11); 0 if none is usable.
struct ScheduleHints {
  std::int64_t ttl_s = 0;        ///< RSS ttl
  std::int64_t sy_s = 0;         ///< sy period ÷ frequency
  std::uint32_t skip_hours = 0;  ///< bit h: hour h in GMT
  std::uint32_t skip_days = 0;   ///< bit d: day d, Sunday 0
  /// sy updateBase, in Unix seconds: published then and every sy_s after.
  std::optional<std::int64_t> sy_base_s{};

  bool operator==(const ScheduleHints&) const = default;
};

/// The hints of a parsed feed.
ScheduleHints schedule_hints(const Feed& feed);

/// The hints as stored in NewestDocument::hints; "" if there are none. Reading ignores malformed hints.
std::string to_text(const ScheduleHints& hints);
ScheduleHints read_schedule_hints(std::string_view text);

/// A due time and its explanation.
struct NextDue {
  Milliseconds due{};
  std::string due_reason;  ///< code of the input that determined it
  std::vector<DueInput> inputs;
};

/// Spreads the due times of feeds; constant for a feed (HTTP §3 step 7).
std::uint64_t phase_of(std::string_view feed_url);

/// Everything a due time may depend on, except the response.
struct DueContext {
  std::uint64_t phase = 0;  ///< of the feed's URL
  Milliseconds now{};
  Milliseconds last_new{};  ///< when an entry was last created, 0 if never
  std::optional<RetryAfter> retry_after;
  Milliseconds not_before{};  ///< an earlier Retry-After still in force: "not before" never shrinks (HTTP §3)
  Milliseconds quota_wait{};  ///< for a quota that its server applies to this feed alone (HTTP H10)
  Freshness fresh;
  bool opened_by_allow = false;  ///< our own or a test server: floors down to 1 s are allowed (HTTP P6)
  std::optional<Milliseconds> interval_min, interval_max;  ///< the operator's limits for this feed (HTTP F8)
  bool gap = false;                             ///< posts were probably missed: halve the interval (HTTP §3 step 4)
  std::optional<Milliseconds> push_fallback{};  ///< interval of polls while its pushes are reliable (WEBSUB §5)
};

/// The shortest interval between polls of a feed, whatever its freshness (HTTP P6).
Milliseconds shortest_floor(const ScheduleOptions& options, const DueContext& context);

/// After a success (HTTP §3). `new_per_week` and `context.last_new` are the values after this poll.
NextDue due_after_success(const ScheduleOptions& options, const DueContext& context, double new_per_week,
                          const ScheduleHints& hints);

/// After a failure: back(base, cap, n) = min(cap, base · 2^(n−1)); `code` names the row of HTTP §4. The operator's
/// minimum interval applies too (HTTP F8).
NextDue due_after_failure(const DueContext& context, Milliseconds base, Milliseconds cap, int failures,
                          std::string_view code);

/// S of HTTP §3 (new entries per week) after decay over `elapsed`, with `new_entries` added.
double decayed_rate(double new_per_week, Milliseconds elapsed, std::uint32_t new_entries);

/// S of HTTP §3 for a first import, from the dates of its entries in Unix seconds.
double imported_rate(std::span<const std::int64_t> timestamps, Milliseconds now);

}  // namespace feedmill
