// When a feed is due next, and why (HTTP §2, §3). Pure: `now` is an argument, so that days of a million feeds can be
// simulated and every due time can be explained.
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
#include "worker/words/due_inputs.hpp"

namespace feedmill {

/// Bounds of the operator.
struct ScheduleOptions {
  Milliseconds min_floor = std::chrono::minutes(10);  ///< freshness may lower the floor to it (HTTP P6)
  Milliseconds floor = std::chrono::hours(1);
  Milliseconds ceiling = std::chrono::hours(24);
};

/// What a document says about its own schedule (HTTP F5–F7); 0 where it says nothing usable.
struct ScheduleHints {
  std::int64_t ttl_s = 0;        ///< RSS ttl
  std::int64_t sy_s = 0;         ///< sy period ÷ frequency
  std::uint32_t skip_hours = 0;  ///< bit h: hour h in GMT
  std::uint32_t skip_days = 0;   ///< bit d: day d, Sunday 0
  /// sy updateBase, unix seconds: it is published then and every sy_s after.
  std::optional<std::int64_t> sy_base_s{};

  bool operator==(const ScheduleHints&) const = default;
};

ScheduleHints schedule_hints(const Feed& feed);

/// As NewestDocument::hints keeps them, "" when there are none; what cannot be read counts as nothing.
std::string to_text(const ScheduleHints& hints);
ScheduleHints read_schedule_hints(std::string_view text);

struct NextDue {
  Milliseconds due{};
  std::string due_reason;  ///< code of the input that fixed it
  std::vector<DueInput> inputs;
};

/// What spreads the due times of feeds: the same for a feed every time (HTTP §3 step 7).
std::uint64_t phase_of(std::string_view feed_url);

/// Everything a due time may hang on besides the answer.
struct DueContext {
  std::uint64_t phase = 0;  ///< of the feed's URL
  Milliseconds now{};
  Milliseconds last_new{};  ///< when an entry was last created, 0 when never
  std::optional<RetryAfter> retry_after;
  Milliseconds not_before{};  ///< an earlier Retry-After that still holds: "not before" never shrinks (HTTP §3)
  Milliseconds quota_wait{};  ///< what its server told of a quota, where that holds for this feed alone (HTTP H10)
  Freshness fresh;
  bool opened_by_allow = false;  ///< an own or test server: floors down to 1 s are legal (HTTP P6)
  std::optional<Milliseconds> interval_min, interval_max;  ///< the operator's for this feed (HTTP F8)
  bool gap = false;  ///< posts were probably missed: come again in half the time (HTTP §3 step 4)
  std::optional<Milliseconds> push_fallback{};  ///< between polls, as long as its pushes can be relied on (WEBSUB §5)
};

/// The shortest time between two polls of a feed, whatever it says of its freshness (HTTP P6).
Milliseconds shortest_floor(const ScheduleOptions& options, const DueContext& context);

/// After an answer that counts as success (HTTP §3). `new_per_week` and `context.last_new` are those after this poll.
NextDue due_after_success(const ScheduleOptions& options, const DueContext& context, double new_per_week,
                          const ScheduleHints& hints);

/// After a failure: back(base, cap, n) = min(cap, base · 2^(n−1)); `code` says which row of HTTP §4. The operator's
/// least interval counts here too (HTTP F8).
NextDue due_after_failure(const DueContext& context, Milliseconds base, Milliseconds cap, int failures,
                          std::string_view code);

/// S of HTTP §3 after `elapsed` with `new_entries` found.
double decayed_rate(double new_per_week, Milliseconds elapsed, std::uint32_t new_entries);

/// S of a first import: from the dates of its entries, unix seconds.
double imported_rate(std::span<const std::int64_t> timestamps, Milliseconds now);

}  // namespace feedmill
