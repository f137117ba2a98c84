#include "worker/policy/push_health.hpp"

#include <algorithm>
#include <bit>

namespace feedmill {
namespace {

constexpr std::uint32_t remembered = 20;
constexpr Milliseconds first_fallback = std::chrono::hours(6);
constexpr double week_ms = 7.0 * 24 * 3600 * 1000;

void remember(PushHealth& health, bool missed) {
  health.recent = ((health.recent << 1U) | (missed ? 1U : 0U)) & ((1U << remembered) - 1U);
  health.recent_count = std::min(health.recent_count + 1, remembered);
  ++(missed ? health.poll_first : health.pushed_first);
  health.good_row = missed ? 0 : health.good_row + 1;
  health.bad_row = missed ? health.bad_row + 1 : 0;
}

std::string next_state(const std::string& state, PushHealth& health) {
  const bool within_allowance = std::popcount(health.recent) <= 1;
  if (health.bad_row >= 3) return "failed";
  if (state == "unproven") return health.pushed_first >= 3 && within_allowance ? "healthy" : state;
  if (state == "healthy") return within_allowance ? state : "doubtful";
  if (health.good_row < 5) return state;
  health.recent = 0;
  return "healthy";
}

}  // namespace

PushVerdict watch_push(const PushStanding& standing, PushHealth health, const PushSight& sight,
                       const PushOptions& options) {
  const std::string& state = standing.state;
  const bool accepted = state == "unproven" || state == "healthy" || state == "doubtful";
  if (!options.on || !accepted) return {health, state};
  if (health.of != standing.verified) {
    health = PushHealth();
    health.of = standing.verified;
  }
  PushVerdict verdict;
  bool missed = false;
  const Milliseconds last_push = sight.payload ? sight.now : standing.last_push;
  const bool by_push = sight.payload || sight.looked_again || last_push > sight.last_refresh;
  if (health.suspect.count() != 0) {
    const Milliseconds behind = last_push - health.suspect;
    if (behind.count() > 0 && behind <= push_patience) {
      ++health.near;
      health.suspect = Milliseconds(0);
    } else if (sight.now - health.suspect > push_patience) {
      missed = true;
      health.suspect = Milliseconds(0);
    }
  }
  if (sight.created > 0 && by_push) {
    verdict.pushed_first = true;
    health.last_entry = sight.now;
    remember(health, false);
  } else if (sight.created > 0) {
    // WEBSUB §5: posts expected by now at the feed's rate.
    const Milliseconds silent_since = std::max(health.last_entry, standing.verified);
    const double expected = sight.new_per_week * static_cast<double>((sight.now - silent_since).count()) / week_ms;
    verdict.poll_first = true;
    if (sight.overdue || expected >= 3)
      missed = true;
    else
      health.suspect = sight.now;
  }
  if (missed) remember(health, true);
  verdict.state = next_state(state, health);
  if (verdict.state != "healthy") {
    health.fallback = Milliseconds(0);
  } else if (health.fallback.count() == 0) {
    health.fallback = std::min(first_fallback, options.fallback_max);
  } else if (!by_push) {
    health.fallback = missed ? health.fallback : std::min(2 * health.fallback, options.fallback_max);
  }
  verdict.health = health;
  return verdict;
}

Milliseconds push_retry_after(std::uint32_t failures) {
  return std::min<Milliseconds>(std::chrono::hours(24) * (1 << std::min(failures, 5U)), std::chrono::hours(24 * 30));
}

}  // namespace feedmill
