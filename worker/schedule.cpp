#include "worker/schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include <boost/json.hpp>
#include <xxhash.h>

namespace feedmill {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Milliseconds least_floor = minutes(10);  // HTTP P6: for every address that egress.allow does not open
constexpr Milliseconds furthest = days(30);
constexpr Milliseconds dormant_after = days(30);
constexpr double week_s = 7.0 * 24 * 3600;

std::int64_t in_seconds(Milliseconds duration) {
  return std::chrono::duration_cast<seconds>(duration).count();
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// "Monday" → 1; any case.
std::optional<unsigned> weekday(std::string_view name) {
  static constexpr std::array names{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
  std::string lower(trimmed(name));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto found = std::find(names.begin(), names.end(), lower);
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin());
}

std::int64_t sy_seconds(const Syndication& sy) {
  if (sy.update_period.empty() && sy.update_frequency.empty()) return 0;
  const std::string_view period = trimmed(sy.update_period);
  std::int64_t base = 24 * 3600;  // daily is the module's default
  if (period == "hourly")
    base = 3600;
  else if (period == "weekly")
    base *= 7;
  else if (period == "monthly")
    base *= 30;
  else if (period == "yearly")
    base *= 365;
  std::int64_t frequency = 1;
  const std::string_view text = trimmed(sy.update_frequency);
  std::from_chars(text.data(), text.data() + text.size(), frequency);
  return base / std::max<std::int64_t>(frequency, 1);
}

/// HTTP P8.
Milliseconds clamped(std::int64_t hint_s, bool dormant) {
  return std::min<Milliseconds>(seconds(std::max<std::int64_t>(hint_s, 0)),
                                dormant ? Milliseconds(days(7)) : Milliseconds(hours(24)));
}

/// HTTP §3 step 7: the same for a feed every time, so that due times are spread, and never early.
Milliseconds phase_of(std::string_view feed_url, Milliseconds spread) {
  return Milliseconds(XXH3_64bits(feed_url.data(), feed_url.size()) % static_cast<std::uint64_t>(spread.count()));
}

Milliseconds with_phase(Milliseconds due, std::string_view feed_url, Milliseconds interval) {
  const Milliseconds spread = std::clamp<Milliseconds>(interval / 10, seconds(6), minutes(30));
  const auto ahead = (phase_of(feed_url, spread) - due % spread + spread) % spread;
  return due + ahead;
}

/// HTTP F7: past skipped hours and days.
Milliseconds past_skipped(Milliseconds due, const ScheduleHints& hints, std::string_view feed_url,
                          std::string_view& code) {
  constexpr std::uint32_t every_hour = (1U << 24U) - 1, every_day = (1U << 7U) - 1;
  if ((hints.skip_hours & every_hour) == every_hour || (hints.skip_days & every_day) == every_day) return due;
  if (hints.skip_hours == 0 && hints.skip_days == 0) return due;
  Milliseconds at = due;
  for (int step = 0; step < 8 * 24; ++step) {
    const std::int64_t hour = at.count() / 3'600'000;
    const bool day_skipped = (hints.skip_days >> static_cast<unsigned>((hour / 24 + 4) % 7) & 1U) != 0;
    const bool hour_skipped = (hints.skip_hours >> static_cast<unsigned>(hour % 24) & 1U) != 0;
    if (!day_skipped && !hour_skipped) break;
    code = day_skipped ? "skip_days" : "skip_hours";
    at = Milliseconds((hour + 1) * 3'600'000);
  }
  return at == due ? due : at + phase_of(feed_url, minutes(30));
}

/// The steps that success and failure share: Retry-After, phase, the end of the world.
void finish(NextDue& next, const DueContext& context, Milliseconds interval) {
  next.due = context.now + interval;
  if (context.retry_after) {
    next.inputs.push_back({"retry_after", context.retry_after->wait.count(), ""});
    const Milliseconds allowed = context.now + Milliseconds(context.retry_after->wait);
    if (allowed > next.due) {
      next.due = allowed;
      next.won = context.retry_after->clamped ? "retry_after_clamped" : "retry_after";
    }
  }
  const Milliseconds before = next.due;
  next.due = with_phase(next.due, context.feed_url, interval);
  next.inputs.push_back({"phase", in_seconds(next.due - before), ""});
}

}  // namespace

ScheduleHints schedule_hints(const Feed& feed) {
  ScheduleHints hints;
  if (feed.ttl && *feed.ttl >= 1) hints.ttl_s = std::min<std::int64_t>(*feed.ttl, 60L * 24 * 365) * 60;
  if (feed.syndication) hints.sy_s = sy_seconds(*feed.syndication);
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
         std::to_string(hints.skip_days);
}

ScheduleHints read_schedule_hints(std::string_view text) {
  ScheduleHints hints;
  const auto take = [&text](auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  };
  take(hints.ttl_s);
  take(hints.sy_s);
  take(hints.skip_hours);
  take(hints.skip_days);
  return hints;
}

std::string why_json(std::span<const DueInput> inputs) {
  boost::json::array array;
  for (const DueInput& input : inputs) {
    boost::json::object row{{"code", input.code}, {"s", input.seconds}};
    if (!input.from.empty()) row["from"] = std::string_view(input.from).substr(0, 120);
    array.push_back(std::move(row));
  }
  return boost::json::serialize(array);
}

NextDue due_after_success(const ScheduleOptions& options, const DueContext& context, double new_per_week,
                          Milliseconds last_new, const ScheduleHints& hints) {
  NextDue next;
  // Step 2: aims at 0.2 new entries a poll.
  const Milliseconds want = seconds(static_cast<std::int64_t>(174'500.0 / std::max(new_per_week, 0.01)));
  char rate[32];
  const auto rate_end = std::to_chars(rate, rate + sizeof rate, new_per_week, std::chars_format::fixed, 2).ptr;
  next.inputs.push_back({"adaptive", in_seconds(want), "S=" + std::string(rate, rate_end)});
  next.won = "adaptive";

  // Step 3.
  const Milliseconds least = context.opened_by_allow ? Milliseconds(seconds(1)) : least_floor;
  const Milliseconds plain_floor = std::max(options.floor, least);
  Milliseconds floor = plain_floor;
  if (context.fresh.fresh.count() > 0) {
    floor = std::clamp<Milliseconds>(context.fresh.fresh, std::max(options.min_floor, least), plain_floor);
  }
  const Milliseconds idle = last_new.count() == 0 ? Milliseconds(0) : context.now - last_new;
  const bool dormant = idle > dormant_after;
  Milliseconds ceiling = options.ceiling;
  if (dormant) {
    ceiling = std::min<Milliseconds>(
        days(7), Milliseconds(options.ceiling.count() * (idle.count() / 60'000) / (dormant_after.count() / 60'000)));
  }
  if (context.interval_min) floor = std::max(*context.interval_min, least);
  if (context.interval_max) ceiling = std::max(*context.interval_max, least);
  ceiling = std::max(ceiling, floor);
  next.inputs.push_back({"floor", in_seconds(floor), ""});

  // Step 4.
  Milliseconds interval = std::clamp(want, floor, ceiling);
  if (want < floor) next.won = context.interval_min ? "override" : "floor";
  if (want > ceiling) next.won = context.interval_max ? "override" : dormant ? "dormant" : "ceiling";

  // Step 5: what the server and the document ask for counts as a minimum.
  const auto at_least = [&](std::string_view code, std::int64_t hint_s, std::string from) {
    if (hint_s <= 0) return;
    next.inputs.push_back({code, hint_s, std::move(from)});
    const Milliseconds asked = clamped(hint_s, dormant);
    if (asked <= interval || context.interval_max) return;
    interval = asked;
    next.won = asked < Milliseconds(seconds(hint_s)) ? std::string("fresh_clamped") : std::string(code);
  };
  at_least(context.fresh.code.empty() ? "max_age" : context.fresh.code, context.fresh.fresh.count(),
           context.fresh.from);
  at_least("ttl", hints.ttl_s, "");
  at_least("sy", hints.sy_s, "");

  finish(next, context, interval);
  std::string_view skipped;
  const Milliseconds allowed = past_skipped(next.due, hints, context.feed_url, skipped);
  if (allowed > next.due) {
    next.inputs.push_back({skipped, in_seconds(allowed - context.now), ""});
    next.won = skipped;
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
  next.won = code;
  if (context.fresh.fresh.count() > 0) {
    const Milliseconds asked = clamped(context.fresh.fresh.count(), false);
    next.inputs.push_back({context.fresh.code, context.fresh.fresh.count(), context.fresh.from});
    if (asked > interval) {
      interval = asked;
      next.won = context.fresh.code;
    }
  }
  finish(next, context, interval);
  next.due = std::min(next.due, context.now + furthest);
  return next;
}

double decayed_rate(double new_per_week, Milliseconds elapsed, std::uint32_t new_entries) {
  const double weeks = static_cast<double>(std::max<std::int64_t>(elapsed.count(), 0)) / 1000.0 / week_s;
  return new_per_week * std::exp2(-weeks) + std::min<std::uint32_t>(new_entries, 20);
}

double imported_rate(std::span<const std::int64_t> timestamps, Milliseconds now) {
  double rate = 0;
  for (const std::int64_t timestamp : timestamps) {
    const double age = std::max<double>(static_cast<double>(now.count() / 1000 - timestamp), 0);
    rate += std::exp2(-age / week_s);
  }
  return std::min(rate, 40.0);
}

}  // namespace feedmill
