// The request rate a host allows, as its responses state it (HTTP H10). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "storage/records/commit.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

/// The tightest of several quotas; empty if the header states none, or not how much is left. The remainder is spread
/// over the time until the quota resets, which ends it. At most a day.
std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now);

}  // namespace feedmill
