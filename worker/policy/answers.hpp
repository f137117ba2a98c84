// Consequences of single responses: the table of HTTP §4, with the kind of failure of each response and its back-off;
// permanent redirects; the host. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/records/commit.hpp"
#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/http/http_fields.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// A row of HTTP §4: back(base, cap, n). After `blocks_after` consecutive failures of the group the state is `blocked`;
/// 0: never.
struct Failure {
  Reason reason{};
  Milliseconds base{}, cap{};
  std::string_view code = "backoff";
  int blocks_after = 0;
};

/// The failure of a response without a document, by its status.
Failure failure_of_status(int status);
/// The failure of a page that requires a browser.
Failure failure_of_challenge();
/// The failure of a second 410, a day later.
Failure failure_of_the_gone();
/// The failure if the response is missing or its document unusable. `sent`: an HTTP byte was sent (HTTP P6).
Failure failure_of_error(Reason reason, bool sent);

/// Whether a storm of the whole host can cause this failure of a feed (HTTP H11).
bool is_like_a_storm(Reason reason);

/// The group of a failure. Consecutive failures are counted within a group; a failure of another group starts again at
/// 1.
std::string_view group_of(Reason reason);

/// HTTP P7: whether a response with this status may state its freshness.
bool states_freshness(int status);

// When to trust a permanent redirect (HTTP R5).

/// Evidence in a response that its document is the same feed.
struct Identity {
  bool same = false;  ///< shares a guid with the stored posts, or equals the stored document, or nothing is stored yet
  bool names_old = false;    ///< its self link or link to the previous feed is the requested URL
  std::string new_location;  ///< its new URL as it states it (itunes:new-feed-url), canonical; "" = none
};

/// Result of judge().
struct Judgement {
  PendingRedirect moving;  ///< the redirect to remember
  std::string move_to;     ///< the URL to request from now on, if the move is trusted; "" = not yet
};

/// The target of the permanent redirects that begin a chain; "" if it does not begin with one (HTTP R5).
std::string permanent_target(std::span<const Hop> hops);

/// Judges a redirect after a successful poll. `requested`: the requested URL; `hops`: its responses. The target passed
/// the egress check in its own hop.
Judgement judge(const FeedAddress& before, const std::string& requested, std::span<const Hop> hops,
                const Identity& identity, Milliseconds now);

// Interprets a response for all feeds on its server (HTTP H3-H5, H10).

/// `now` as header fields are read with.
inline std::chrono::sys_seconds whole_seconds(Milliseconds now) {
  return std::chrono::sys_seconds(std::chrono::duration_cast<std::chrono::seconds>(now));
}

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
