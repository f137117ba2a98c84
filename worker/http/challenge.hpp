// Detects challenge pages that require a browser before a feed is served (HTTP §4). We never evade them. Pure.
#pragma once

#include <span>
#include <string_view>

#include "worker/http/http_fields.hpp"

namespace feedmill {

/// Whether the header marks a challenge: `cf-mitigated: challenge` on a 403 or 503.
bool says_challenge(int status, std::span<const Header> headers);

/// Whether `body`, decoded, is an HTML page that matches the built-in table. Checks its first 64 KiB.
bool is_challenge_page(std::string_view body);

}  // namespace feedmill
