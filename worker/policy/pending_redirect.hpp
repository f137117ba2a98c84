// When a permanent redirect is believed (HTTP R5, R6, R9). Pure.
#pragma once

#include <span>
#include <string>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill {

/// What an answer says of whose document it is.
struct Identity {
  bool same = false;         ///< shares a guid with what is stored, or nothing is stored yet, or is what is stored
  bool names_old = false;    ///< its self link or link to the previous feed is the URL that was asked for
  std::string new_location;  ///< where it says it has moved to (itunes:new-feed-url), canonical; "" = nowhere
};

struct Judgement {
  PendingRedirect moving;  ///< as it is to be remembered
  std::string move_to;     ///< the move is believed: what to request from now on, "" = it is not
};

/// Where the all-permanent beginning of a chain leads, and something answered: "" when it does not begin so (HTTP R6).
std::string permanent_target(std::span<const Hop> hops);

/// After a poll that succeeded. `requested` is the URL asked for, `hops` its answers. The egress check of the target is
/// that of its own hop, a moment ago.
Judgement judge(const FeedAddress& before, const std::string& requested, std::span<const Hop> hops,
                const Identity& identity, Milliseconds now);

}  // namespace feedmill
