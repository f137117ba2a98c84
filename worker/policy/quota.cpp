#include "worker/policy/quota.hpp"

#include <algorithm>
#include <cmath>

namespace feedmill {

std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now) {
  constexpr Milliseconds longest = std::chrono::hours(24), rounding = std::chrono::seconds(1);
  std::optional<Milliseconds> gap, pace;
  Milliseconds lasts{};
  for (const StatedQuota& quota : stated_quotas(headers, now)) {
    if (quota.pace) pace = std::max(pace.value_or(*quota.pace), *quota.pace);
    if (!quota.reset || (!quota.remaining && !refused)) continue;
    lasts = std::max(lasts, Milliseconds(*quota.reset) + rounding);
    const double left = refused ? 0 : std::floor(quota.remaining.value_or(0));
    Milliseconds next(static_cast<std::int64_t>(std::ceil(static_cast<double>(quota.reset->count()) / (left + 1))));
    if (left == 0) next += rounding;  // most servers report whole seconds
    gap = std::max(gap.value_or(next), next);
  }
  if (!gap && !pace) return std::nullopt;
  // The window of a refused request may have begun long ago: it shows when to retry, but not how often.
  if (!pace) pace = refused ? Milliseconds(0) : *gap;
  if (!gap) gap = *pace;
  // A quota without an end must be repeated by the next response.
  lasts = std::max(lasts.count() > 0 ? lasts : 2 * *pace, *gap);
  return ToldQuota{std::min(*gap, longest), std::min(*pace, longest), std::min(lasts, longest)};
}

}  // namespace feedmill
