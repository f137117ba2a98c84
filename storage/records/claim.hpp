// A feed that one worker refreshes for as long as its lease runs (RELIABILITY L1).
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
  Milliseconds due{};  ///< when it was due
  Milliseconds now{};  ///< Redis' time of the claim
  FeedState state;
  bool alone = false;             ///< the one feed of this worker that a worker has died of (SECURITY Q2)
  Milliseconds host_served_at{};  ///< when its host last answered 200, to the day; 0 = not within 7 days
  bool host_identity = false;     ///< its host fails at content codings (HTTP §4)
  bool host_http1 = false;        ///< its host fails at HTTP/2 (HTTP P20)
  Milliseconds host_storm{};      ///< since when its host is in trouble, with all its feeds; 0 = it is not (HTTP H11)
  std::string egress{};           ///< the name that the worker goes out under, "" = none (HTTP H10)
  bool has_posts = true;          ///< posts of it may be stored; false: none ever was
  std::uint64_t failovers = 0;    ///< of the store until then: what is read for it must be as new (RELIABILITY L24)
};

/// What one claim call brought.
struct ClaimBatch {
  std::vector<Claim> claims;
  struct Deferred {
    std::string feed_url;
    Milliseconds due{};
    std::string code;  ///< host_spacing, host_backoff, quarantine (HTTP §11)
  };
  std::vector<Deferred> deferred;        ///< come into their host's line (HTTP H1), or wait to be alone (SECURITY Q2)
  std::vector<Deferred> quarantined;     ///< have killed three workers, each time alone (SECURITY Q2)
  std::vector<std::string> refused;      ///< put off for a day: the key of their state is no hash (RELIABILITY §6)
  Milliseconds now{};                    ///< Redis' time
  std::optional<Milliseconds> next_due;  ///< when to claim again: the earliest of what is left
  std::optional<Milliseconds> next_awaited;  ///< when the next in a line may start that was due by ClaimRequest::due_by
  bool exhausted = false;                    ///< every feed that was due was looked at
};

}  // namespace feedmill
