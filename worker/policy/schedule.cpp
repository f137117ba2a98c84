#include "worker/policy/schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <xxhash.h>

#include "parsers/text/date.hpp"
#include "parsers/text/strings.hpp"
#include "worker/config/feed_settings.hpp"

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Milliseconds furthest = days(30);
constexpr Milliseconds dormant_after = days(30);
constexpr std::int64_t day_s = 24 * 3600L;
constexpr double week_s = 7.0 * 24 * 3600;

std::int64_t in_seconds(Milliseconds duration) {
  return std::chrono::duration_cast<seconds>(duration).count();
}

/// "Monday" → 1; any case.
std::optional<unsigned> weekday(std::string_view name) {
  static constexpr std::array names{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
  const auto found = std::find(names.begin(), names.end(), lower(trim(name)));
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin());
}

/// 0 if the period is not one the module defines; its default is daily.
std::int64_t period_seconds(std::string_view word) {
  const std::string period = lower(trim(word));
  if (period == "hourly") return 3600;
  if (period.empty() || period == "daily") return day_s;
  if (period == "weekly") return 7 * day_s;
  if (period == "monthly") return 30 * day_s;
  if (period == "yearly") return 365 * day_s;
  return 0;
}

std::int64_t sy_seconds(const Syndication& sy) {
  if (sy.update_period.empty() && sy.update_frequency.empty()) return 0;
  const std::string_view text = trim(sy.update_frequency);
  std::int64_t frequency = 1;
  if (!read_number(text, frequency) || frequency < 1) frequency = 1;
  return period_seconds(sy.update_period) / frequency;
}

/// The lowest possible floor, whatever is requested (HTTP P6).
Milliseconds least_ever(const DueContext& context) {
  return context.opened_by_allow ? Milliseconds(seconds(1)) : Milliseconds(least_interval);
}

bool is_dormant(const DueContext& context) {
  return context.last_new.count() != 0 && context.now - context.last_new > dormant_after;
}

/// The limit of hints (HTTP P8, F8).
seconds most_heeded(const DueContext& context) {
  const seconds most = is_dormant(context) ? seconds(days(7)) : seconds(hours(24));
  return context.interval_max ? std::min(most, std::chrono::floor<seconds>(*context.interval_max)) : most;
}

/// Applies a server's or document's hint as a minimum, within limits (HTTP P8).
void at_least(NextDue& next, Milliseconds& interval, const DueContext& context, DueInput hint) {
  if (hint.seconds <= 0) return;
  const seconds most = most_heeded(context);
  const seconds asked = std::min(seconds(hint.seconds), most);
  if (asked > interval) {
    interval = asked;
    next.due_reason = asked.count() < hint.seconds ? std::string_view("fresh_clamped") : hint.code;
  }
  next.inputs.push_back(std::move(hint));
}

/// HTTP P11: moves forward to the next publication time the document states.
void to_next_publication(NextDue& next, Milliseconds& interval, const DueContext& context, const ScheduleHints& hints) {
  if (!hints.sy_base_s || hints.sy_s <= 0 || seconds(hints.sy_s) > most_heeded(context)) return;
  const Milliseconds period = seconds(hints.sy_s), base = seconds(*hints.sy_base_s);
  const Milliseconds ahead = ((base - (context.now + interval)) % period + period) % period;
  if (ahead.count() == 0) return;
  interval += ahead;
  next.inputs.push_back({"sy", in_seconds(interval), "updateBase"});
  next.due_reason = "sy";
}

Milliseconds part_of(Milliseconds spread, std::uint64_t phase) {
  return Milliseconds(phase % static_cast<std::uint64_t>(spread.count()));
}

/// HTTP §3 step 7: never early.
Milliseconds with_phase(Milliseconds due, std::uint64_t phase, Milliseconds interval) {
  const Milliseconds spread = std::clamp<Milliseconds>(interval / 10, seconds(6), minutes(30));
  const auto ahead = (part_of(spread, phase) - due % spread + spread) % spread;
  return due + ahead;
}

/// HTTP P11: moves past skipped hours and days; a set that covers every hour or every day is ignored.
Milliseconds past_skipped(Milliseconds due, const ScheduleHints& hints, std::uint64_t phase, std::string_view& code) {
  constexpr std::uint32_t every_hour = (1U << 24U) - 1, every_day = (1U << 7U) - 1;
  const std::uint32_t hours_out = (hints.skip_hours & every_hour) == every_hour ? 0 : hints.skip_hours;
  const std::uint32_t days_out = (hints.skip_days & every_day) == every_day ? 0 : hints.skip_days;
  Milliseconds at = due;
  for (int step = 0; step < 8 * 24; ++step) {
    const std::int64_t hour = at.count() / 3'600'000;
    const bool day_skipped = (days_out >> static_cast<unsigned>((hour / 24 + 4) % 7) & 1U) != 0;
    const bool hour_skipped = (hours_out >> static_cast<unsigned>(hour % 24) & 1U) != 0;
    if (!day_skipped && !hour_skipped) break;
    code = day_skipped ? "skip_days" : "skip_hours";
    at = Milliseconds((hour + 1) * 3'600'000);
  }
  return at == due ? due : at + part_of(minutes(30), phase);
}

/// Steps common to success and failure: Retry-After, a quota, phase, the overall limit.
void finish(NextDue& next, const DueContext& context, Milliseconds interval) {
  next.due = context.now + interval;
  if (context.retry_after) {
    next.inputs.push_back({"retry_after", context.retry_after->wait.count(), ""});
    const Milliseconds allowed = context.now + Milliseconds(context.retry_after->wait);
    if (allowed > next.due) {
      next.due = allowed;
      next.due_reason = context.retry_after->clamped ? "retry_after_clamped" : "retry_after";
    }
  }
  if (context.not_before > next.due) {
    next.inputs.push_back({"retry_after", in_seconds(context.not_before - context.now), "said before"});
    next.due = context.not_before;
    next.due_reason = "retry_after";
  }
  if (context.quota_wait.count() > 0) {
    next.inputs.push_back({"quota", in_seconds(context.quota_wait), ""});
    if (context.now + context.quota_wait > next.due) {
      next.due = context.now + context.quota_wait;
      next.due_reason = "quota";
    }
  }
  const Milliseconds before = next.due;
  next.due = with_phase(next.due, context.phase, interval);
  next.inputs.push_back({"phase", in_seconds(next.due - before), ""});
}

}  // namespace

std::uint64_t phase_of(std::string_view feed_url) {
  return XXH3_64bits(feed_url.data(), feed_url.size());
}

ScheduleHints schedule_hints(const Feed& feed) {
  ScheduleHints hints;
  if (feed.ttl && *feed.ttl >= 1) hints.ttl_s = std::min<std::int64_t>(*feed.ttl, 60L * 24 * 365) * 60;
  if (feed.syndication) hints.sy_s = sy_seconds(*feed.syndication);
  if (hints.sy_s > 0) {
    if (const auto base = parse_moment(feed.syndication->update_base)) hints.sy_base_s = unix_seconds(*base);
  }
  for (const int hour : feed.skip_hours) {
    if (hour >= 0 && hour <= 24) hints.skip_hours |= 1U << static_cast<unsigned>(hour % 24);
  }
  for (const std::string& day : feed.skip_days) {
    if (const auto number = weekday(day)) hints.skip_days |= 1U << *number;
  }
  return hints;
}

std::string to_text(const ScheduleHints& hints) {
  if (hints == ScheduleHints()) return "";
  return std::to_string(hints.ttl_s) + ' ' + std::to_string(hints.sy_s) + ' ' + std::to_string(hints.skip_hours) + ' ' +
         std::to_string(hints.skip_days) + (hints.sy_base_s ? ' ' + std::to_string(*hints.sy_base_s) : "");
}

ScheduleHints read_schedule_hints(std::string_view text) {
  ScheduleHints hints;
  const auto take = [&text](auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
    return true;
  };
  const bool whole = take(hints.ttl_s) && take(hints.sy_s) && take(hints.skip_hours) && take(hints.skip_days);
  if (std::int64_t base = 0; whole && take(base)) hints.sy_base_s = base;
  return hints;
}

Milliseconds shortest_floor(const ScheduleOptions& options, const DueContext& context) {
  return std::max({options.floor, options.min_floor, least_ever(context)});
}

NextDue due_after_success(const ScheduleOptions& options, const DueContext& context, double new_per_week,
                          const ScheduleHints& hints) {
  NextDue next;
  // Step 2: aims at 0.2 new entries a poll. Keeps the divisor below positive, whatever rate was stored.
  const double rate = new_per_week > 0 ? std::min(new_per_week, 1e6) : 0;
  const Milliseconds want = seconds(static_cast<std::int64_t>(174'500.0 / std::max(rate, 0.01)));
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, rate, std::chars_format::fixed, 2).ptr;
  next.inputs.push_back({"adaptive", in_seconds(want), "S=" + std::string(digits, end)});
  next.due_reason = "adaptive";

  // Step 3.
  const Milliseconds least = least_ever(context);
  const Milliseconds least_fresh = std::max(options.min_floor, least);
  Milliseconds floor = shortest_floor(options, context);
  if (context.fresh.fresh.count() > 0) floor = std::clamp<Milliseconds>(context.fresh.fresh, least_fresh, floor);
  Milliseconds ceiling = options.ceiling;
  if (is_dormant(context)) {
    const double months =
        static_cast<double>((context.now - context.last_new).count()) / static_cast<double>(dormant_after.count());
    const double grown =
        std::min(static_cast<double>(ceiling.count()) * months, static_cast<double>(Milliseconds(days(7)).count()));
    ceiling = std::max(ceiling, Milliseconds(static_cast<std::int64_t>(grown)));
  }
  if (context.interval_max) {
    ceiling = std::max(*context.interval_max, least);
    floor = std::min(floor, ceiling);
  }
  if (context.interval_min) floor = std::max(*context.interval_min, least);
  ceiling = std::max(ceiling, floor);
  next.inputs.push_back({"floor", in_seconds(floor), ""});

  // Step 4.
  Milliseconds interval = std::clamp(want, floor, ceiling);
  if (want < floor) next.due_reason = context.interval_min ? "override" : "floor";
  if (want > ceiling) {
    const bool told = context.interval_max || (context.interval_min && ceiling == floor);
    next.due_reason = told ? "override" : is_dormant(context) ? "dormant" : "ceiling";
  }
  if (context.gap && interval / 2 > floor / 2) {
    const Milliseconds half = std::max(floor, interval / 2);
    if (half < interval) next.due_reason = "gap";
    interval = half;
    next.inputs.push_back({"gap", in_seconds(interval), ""});
  }

  // Step 5.
  at_least(next, interval, context, {context.fresh.code, context.fresh.fresh.count(), context.fresh.from});
  at_least(next, interval, context, {"ttl", hints.ttl_s, ""});
  at_least(next, interval, context, {"sy", hints.sy_s, ""});
  to_next_publication(next, interval, context, hints);
  if (context.push_fallback) {
    const Milliseconds fallback =
        std::min(*context.push_fallback, context.interval_max.value_or(*context.push_fallback));
    next.inputs.push_back({"websub_fallback", in_seconds(fallback), ""});
    if (fallback > interval) {
      interval = fallback;
      next.due_reason = "websub_fallback";
    }
  }

  finish(next, context, interval);
  std::string_view skipped;
  const Milliseconds allowed = past_skipped(next.due, hints, context.phase, skipped);
  if (allowed > next.due) {
    next.inputs.push_back({skipped, in_seconds(allowed - context.now), ""});
    next.due_reason = skipped;
    next.due = allowed;
  }
  next.due = std::min(next.due, context.now + furthest);
  return next;
}

NextDue due_after_failure(const DueContext& context, Milliseconds base, Milliseconds cap, int failures,
                          std::string_view code) {
  NextDue next;
  Milliseconds interval = cap;
  if (failures < 32) interval = std::min(cap, base * (std::int64_t{1} << std::max(failures - 1, 0)));
  next.inputs.push_back({code, in_seconds(interval), "n=" + std::to_string(failures)});
  next.due_reason = code;
  if (context.interval_min && *context.interval_min > interval) {
    interval = *context.interval_min;
    next.inputs.push_back({"override", in_seconds(interval), ""});
    next.due_reason = "override";
  }
  at_least(next, interval, context, {context.fresh.code, context.fresh.fresh.count(), context.fresh.from});
  finish(next, context, interval);
  next.due = std::min(next.due, context.now + furthest);
  return next;
}

double decayed_rate(double new_per_week, Milliseconds elapsed, std::uint32_t new_entries) {
  const double weeks = static_cast<double>(std::max<std::int64_t>(elapsed.count(), 0)) / 1000.0 / week_s;
  return new_per_week * std::exp2(-weeks) + std::min<std::uint32_t>(new_entries, 20);
}

double imported_rate(std::span<const std::int64_t> timestamps, Milliseconds now) {
  const std::int64_t now_s = in_seconds(now);
  double rate = 0;
  for (const std::int64_t timestamp : timestamps) {
    const std::int64_t age = std::max<std::int64_t>(now_s - timestamp, 0);
    rate += std::exp2(static_cast<double>(-age) / week_s);
  }
  return std::min(rate, 40.0);
}

}  // namespace feedmill
