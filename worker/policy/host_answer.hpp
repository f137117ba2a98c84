// What an answer says of the server that gave it, for all feeds of that server (HTTP H3-H5, H10). Pure.
#pragma once

#include <string>

#include "storage/records/commit.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Whether both URLs are of one site: one registrable domain by the public suffix list, "www." apart, and one port, of
/// which 80 and 443 are one. A site is believed about its own servers alone.
bool is_one_site(const std::string& url, const std::string& other);

/// The server that answered last (server_of), "" when it is the one that was asked first.
std::string led_to(const Exchange& exchange);
/// Whether the last answer is of another site than the first.
bool is_of_another_site(const Exchange& exchange);

/// `status`: of the last answer, 0 = it says nothing; `is_throttled`: it was a 403 that may be for the number of
/// requests. What another site led to says nothing of its server: the first hop alone is told of, as served.
HostAnswer host_answer(const Claim& claim, const Exchange& exchange, int status, bool is_throttled, Milliseconds now);

/// HTTP H10: for how long a feed leaves its server alone by itself, because what it was told of a quota is for longer
/// than an hour, or for others to take over from no other site; 0 = its gate knows.
Milliseconds own_quota_wait(const Exchange& exchange, Milliseconds now);

}  // namespace feedmill
