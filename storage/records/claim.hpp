// One worker's exclusive right to refresh a feed until its lease ends (RELIABILITY L1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/records/feed_state.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// The right to refresh one feed until the lease ends (RELIABILITY L1).
struct Claim {
  std::string id;  ///< "<worker>:<seq>", never used again
  std::string feed_url;
  Milliseconds due{};  ///< its due time
  Milliseconds now{};  ///< Redis' time of the claim
  FeedState state;
  bool alone = false;             ///< it runs alone in its worker, because a worker has died of it (SECURITY Q2)
  Milliseconds host_served_at{};  ///< when its host last answered 200, to the day; 0 = not within 7 days
  bool host_identity = false;     ///< its host gets content codings wrong (HTTP §4)
  bool host_http1 = false;        ///< its host gets HTTP/2 wrong (HTTP P20)
  Milliseconds host_storm{};      ///< start of its host's storm (all its feeds fail), 0 = none (HTTP H11)
  std::string egress{};           ///< egress name of the worker, "" = none (HTTP H10)
  bool has_posts = true;          ///< the feed may have posts in the store; false: none was ever stored
  std::uint64_t failovers = 0;    ///< the store's failover count; later reads must be as new (RELIABILITY L24)
};

/// Result of one claim call.
struct ClaimBatch {
  std::vector<Claim> claims;
  struct Deferred {
    std::string feed_url;
    Milliseconds due{};
    std::string code;  ///< host_spacing, host_backoff, quarantine (HTTP §11)
  };
  std::vector<Deferred> deferred;     ///< joined their host's line (HTTP H1), or wait to run alone (SECURITY Q2)
  std::vector<Deferred> quarantined;  ///< killed three workers, each time alone (SECURITY Q2)
  std::vector<std::string> refused;   ///< postponed for a day: the key of their state is not a hash (RELIABILITY §6)
  Milliseconds now{};                 ///< Redis' time
  std::optional<Milliseconds> next_due;      ///< when to claim again: earliest of the feeds that are left
  std::optional<Milliseconds> next_awaited;  ///< next start of a feed in a line that was due by ClaimRequest::due_by
  bool exhausted = false;                    ///< every due feed was examined
};

}  // namespace feedmill
