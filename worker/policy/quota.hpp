// The request rate a host allows, as its responses state it (HTTP H10). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "storage/records/commit.hpp"
#include "worker/http/http_fields.hpp"

namespace feedmill {

/// The tightest of the stated quotas; empty if none states a rate (requests per window), or both its reset and the
/// remaining requests. These are spread over the time until the reset; `refused`: none remain. All times are at most a
/// day.
std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now);

}  // namespace feedmill
