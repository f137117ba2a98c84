// Limits the rate of overdue feeds when a fleet has fallen behind (HTTP P12). Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "storage/redis/values.hpp"

namespace feedmill {

/// The rate that a worker sends with each claim; the store applies it to the whole fleet.
class CatchUpRate {
 public:
  /// `rate`: overdue feeds per second of the whole fleet, 0 = unpaced.
  explicit CatchUpRate(std::uint32_t rate) : rate_(rate) {}

  void set_rate(std::uint32_t rate) { rate_ = rate; }
  /// Sets the number of feeds.
  void set_feeds(std::uint64_t feeds) { feeds_ = feeds; }
  /// A feed was polled and is due again after `interval`. Feeds with short intervals are polled more often, so the mean
  /// over polls shows the fleet's regular rate.
  void observe(Milliseconds interval) {
    const double seconds = std::chrono::duration<double>(interval).count();
    mean_interval_s_ += (seconds - mean_interval_s_) * (mean_interval_s_ > 0 ? 0.01 : 1.0);
  }

  /// Feeds per second of the whole fleet, at least 1.5 times its regular rate; 0 = unpaced.
  std::uint64_t now() const {
    if (rate_ == 0) return 0;
    const double planned = mean_interval_s_ > 0 ? static_cast<double>(feeds_) / mean_interval_s_ : 0;
    return std::max<std::uint64_t>(rate_, static_cast<std::uint64_t>(std::min(1.5 * planned, 1e6)));
  }

 private:
  std::uint32_t rate_;
  std::uint64_t feeds_ = 0;
  double mean_interval_s_ = 0;  ///< mean poll interval over the last hundreds of refreshes; 0 = unknown
};

}  // namespace feedmill
