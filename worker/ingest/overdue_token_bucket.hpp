// How fast overdue feeds are taken up when a fleet has fallen behind (HTTP P12). Pure: the time is an argument.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "storage/records/claim.hpp"
#include "storage/redis/values.hpp"

namespace feedmill {

/// Counts what may be claimed. Feeds on time and those an operator asked for are not paced.
class OverdueTokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `rate`: overdue feeds per second of the whole fleet, 0 = unpaced.
  OverdueTokenBucket(std::uint32_t rate, Time now) : rate_(rate), tokens_(rate), at_(now) {}

  void set_rate(std::uint32_t rate) { rate_ = rate; }
  /// How large the fleet is.
  void set_fleet(std::uint64_t feeds, std::uint64_t workers) {
    feeds_ = feeds;
    workers_ = std::max<std::uint64_t>(workers, 1);
  }
  /// A feed was polled that comes again after `interval`. A feed is polled the more often, the shorter its own is: the
  /// polls themselves show what the fleet must poll anyhow.
  void observe(Milliseconds interval) {
    const double seconds = std::chrono::duration<double>(interval).count();
    mean_interval_s_ += (seconds - mean_interval_s_) * (mean_interval_s_ > 0 ? 0.01 : 1.0);
  }

  /// How many feeds the next claim may take, of `most`.
  std::size_t available(std::size_t most, Time now) {
    if (rate_ == 0) return most;
    const double rate = own_rate();
    tokens_ = std::min(std::max(rate, 1.0), tokens_ + rate * std::chrono::duration<double>(now - at_).count());
    at_ = now;
    return tokens_ < 1 ? 0 : std::min(most, static_cast<std::size_t>(tokens_));
  }

  /// These were taken.
  void spend(const ClaimBatch& batch) {
    for (const Claim& claim : batch.claims) {
      if (claim.now - claim.due > overdue_after && claim.state.due.reason != "manual") tokens_ -= 1;
    }
  }

 private:
  static constexpr Milliseconds overdue_after{2'000};

  /// This worker's share of what the fleet may take: no less than half as much again as it must poll anyhow.
  double own_rate() const {
    const double planned = mean_interval_s_ > 0 ? static_cast<double>(feeds_) / mean_interval_s_ : 0;
    return std::max<double>(rate_, 1.5 * planned) / static_cast<double>(workers_);
  }

  std::uint32_t rate_;
  double tokens_;
  Time at_;
  std::uint64_t feeds_ = 0, workers_ = 1;
  double mean_interval_s_ = 0;  ///< between polls, over the last hundreds of refreshes; 0 = not known yet
};

}  // namespace feedmill
