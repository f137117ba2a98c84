// Limits how often callbacks are verified per site and network, so that the hub is not an amplifier (WEBSUB U19).
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Limits requests by name: a site (Subscriber::site), or the network of the address to connect to. Each name gets one
/// request a second, and none for ten minutes after ten failures. Lives on the loop's thread.
class VerificationLimit {
 public:
  enum class Outcome {
    confirmed,
    failed,    ///< any other answer, or no answer
    not_asked  ///< no request was sent
  };

  /// What a confirmation does to the limit of its name. A site's limit is lifted. A network keeps it, because its other
  /// hosts may be victims: requests need no pause between them until one fails, but failures still count until ten
  /// minutes have passed.
  enum class Confirmed { lifts, keeps };

  /// `most`: number of names remembered. A blocked name is never evicted; if there is no room, a new name waits.
  explicit VerificationLimit(std::size_t most = 10'000, Confirmed confirmed = Confirmed::lifts)
      : most_(most), confirmed_(confirmed) {}

  /// Whether the site is remembered.
  bool knows(const std::string& site) const { return places_.contains(site); }
  /// Remembers a site after a look-up. `confirmed`: the site has an active subscription. False if there is no room.
  bool add(const std::string& site, bool confirmed);

  /// How long to reject all requests from the site; 0: it is not blocked.
  Milliseconds closed_for(const std::string& site);
  /// Returns 0 if a request may be sent now: call leave() with its outcome. Otherwise the time to wait.
  Milliseconds enter(const std::string& site);
  void leave(const std::string& site, Outcome outcome);

  /// Like enter(), for a name that may not be remembered yet. `full`: the time to wait if there is no room.
  Milliseconds enter(const std::string& name, Milliseconds full);

 private:
  using Clock = std::chrono::steady_clock;
  struct Site {
    std::string name;
    bool confirmed = false;
    std::size_t failures = 0;
    std::size_t under_way = 0;  ///< requests in flight
    std::size_t waiting = 0;    ///< callers that had to wait since the last request
    Clock::time_point next{};   ///< earliest time of the next request
    Clock::time_point until{};  ///< end of the block, or of counting failures
  };

  Site* find(const std::string& site);
  bool may_be_forgotten(const Site& site) const;
  bool is_lifted(const Site& site) const { return site.confirmed && confirmed_ == Confirmed::lifts; }

  const std::size_t most_;
  const Confirmed confirmed_;
  std::list<Site> sites_;  // oldest first
  std::unordered_map<std::string, std::list<Site>::iterator> places_;
};

}  // namespace feedmill
