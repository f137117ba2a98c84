// How often a host wants to be asked, by what its answers say of it (HTTP H10). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "storage/records/commit.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

/// Of several quotas the tightest; nothing when the header speaks of none, or does not say how much of it is left. What
/// is left is spread over the time until there is more, which ends what was told. At most a day.
std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now);

}  // namespace feedmill
