// When to trust a permanent redirect (HTTP R5). Pure.
#pragma once

#include <span>
#include <string>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

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

}  // namespace feedmill
