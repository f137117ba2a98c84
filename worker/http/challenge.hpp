// Pages that want to see a browser before they show a feed (HTTP §4). They are recognised, never evaded. Pure.
#pragma once

#include <span>
#include <string_view>

#include "worker/http/http_fields.hpp"

namespace feedmill {

/// True when the header says so: `cf-mitigated: challenge` on a 403 or 503.
bool says_challenge(int status, std::span<const Header> headers);

/// True when `body`, content coding removed, is an HTML page of the built-in table. Looks at its first 64 KiB.
bool is_challenge_page(std::string_view body);

}  // namespace feedmill
