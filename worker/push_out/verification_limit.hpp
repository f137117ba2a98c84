// How often callbacks are verified at a site or in a network, and when nothing new of it is accepted, so that nobody can
// use the hub as an amplifier (WEBSUB U19).
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/redis/values.hpp"

namespace feedmill {

/// Limits by name: of a site (Subscriber::site), or of the network of the address that is connected to. Each gets one
/// request a second, and after ten failures none for ten minutes. Lives on the loop's thread.
class VerificationLimit {
 public:
  enum class Outcome {
    confirmed,
    failed,    ///< any other answer, or none
    not_asked  ///< no request was made
  };

  /// What a confirmation does to the limit of its name. A network keeps it, because its other hosts may be victims: a
  /// second between two requests is not needed until one fails, but failures count until ten minutes have passed.
  enum class Confirmed { lifts, keeps };

  /// `most`: names that are remembered. One that is closed is never forgotten for another: without room a new one waits.
  explicit VerificationLimit(std::size_t most = 10'000, Confirmed confirmed = Confirmed::lifts)
      : most_(most), confirmed_(confirmed) {}

  /// Whether it is remembered that the site has confirmed, or has not.
  bool knows(const std::string& site) const { return places_.contains(site); }
  /// Remembers a site that was looked up; `confirmed`: it has an active subscription. False: there is no room for it.
  bool add(const std::string& site, bool confirmed);
  bool has_confirmed(const std::string& site) const;

  /// How long nothing of the site is to be taken or asked; 0 where that is not so.
  Milliseconds closed_for(const std::string& site);
  /// 0: the site may be asked now, and leave() is called with the outcome. Else how long to wait.
  Milliseconds enter(const std::string& site);
  void leave(const std::string& site, Outcome outcome);

  /// enter() of a name that need not be known. `full`: how long to wait if there is no room for it.
  Milliseconds enter(const std::string& name, Milliseconds full);

 private:
  using Clock = std::chrono::steady_clock;
  struct Site {
    std::string name;
    bool confirmed = false;
    std::size_t failures = 0;
    std::size_t under_way = 0;  ///< requests
    std::size_t waiting = 0;    ///< told to wait since the last request
    Clock::time_point next{};   ///< request
    Clock::time_point until{};  ///< failures count, or it is closed
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
