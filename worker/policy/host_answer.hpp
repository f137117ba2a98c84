// Interprets a response for all feeds on its server (HTTP H3-H5, H10). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "storage/records/commit.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// Whether both URLs are on one site: the same registrable domain by the public suffix list, ignoring "www.", and the
/// same port (80 and 443 count as one). A site is trusted only about its own servers.
bool is_one_site(const std::string& url, const std::string& other);

/// Whether a site other than the feed's may have determined the response: redirects passed through one, even if they
/// lead back, or the feed has moved away from one.
bool is_of_another_site(const Claim& claim, const Exchange& exchange);
/// Whether the redirects passed through a server (server_of) other than the first.
bool is_of_another_server(const Exchange& exchange);

/// What a 403 means for the request rate.
enum class Forbidden { for_good, throttled, over_quota };

/// `status`: the last response's HTTP status, 0 = none; `forbidden`: how to interpret a 403; `is_feed`: the URL was
/// read as a feed, now or before; other URLs say little about their server's feeds. For a response from another site
/// (is_of_another_site) the result covers the first hop only, as served or silent.
HostAnswer host_answer(const Claim& claim, const Exchange& exchange, int status, Forbidden forbidden, bool is_feed,
                       Milliseconds now);

/// A quota that applies to this feed alone, because its gate does not apply it (HTTP H10).
struct OwnQuota {
  Milliseconds wait{};   ///< until its next request, 0 = none
  bool used_up = false;  ///< no request is left before the reset
};
/// Applies a quota longer than an hour, reported by another site's server, or of a URL never read as a feed; otherwise
/// none.
OwnQuota own_quota(const Claim& claim, const Exchange& exchange, Milliseconds now);

/// The request rate a host allows, as its responses state it (HTTP H10): the tightest of the stated quotas; empty if
/// none states a rate (requests per window), or both its reset and the remaining requests. These are spread over the
/// time until the reset; `refused`: none remain. All times are at most a day.
std::optional<ToldQuota> told_quota(std::span<const Header> headers, bool refused, std::chrono::sys_seconds now);

}  // namespace feedmill
