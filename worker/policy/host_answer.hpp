// What an answer says of the server that gave it, for all feeds of that server (HTTP H3-H5, H10). Pure.
#pragma once

#include <string>

#include "storage/records/commit.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill {

/// Whether both URLs are of one site: one registrable domain by the public suffix list, "www." apart, and one port, of
/// which 80 and 443 are one. A site is believed about its own servers alone.
bool is_one_site(const std::string& url, const std::string& other);

/// Whether another site than the feed's may have chosen the answer: the redirects passed one, even if they lead back,
/// or the feed has moved from one.
bool is_of_another_site(const Claim& claim, const Exchange& exchange);
/// Whether the redirects passed another server (server_of) than the first.
bool is_of_another_server(const Exchange& exchange);

/// A 403, as far as it may be about the number of requests.
enum class Forbidden { for_good, throttled, over_quota };

/// `status`: the last answer's HTTP status, 0 = none; `forbidden`: how to read a 403. An answer of another site
/// (is_of_another_site) says nothing about its server; the result then covers the first hop only, as served or silent.
HostAnswer host_answer(const Claim& claim, const Exchange& exchange, int status, Forbidden forbidden, Milliseconds now);

/// HTTP H10: how long this feed alone waits for a quota that its gate does not apply yet: one longer than an hour, or
/// one that another site's server reported. 0 = none.
Milliseconds own_quota_wait(const Claim& claim, const Exchange& exchange, Milliseconds now);

}  // namespace feedmill
