// How many feeds a worker claims: by its speed, and by its backlog.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "storage/redis/values.hpp"

namespace feedmill {

// Limits how many feeds one claim call takes (RELIABILITY B2). Pure: the time is an argument.

/// Halves the limit when commits are slow, at most once a second; raises it by one for each second without slow
/// commits.
class AdaptiveBatchSize {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `most`: the initial and maximum limit, at least 1.
  explicit AdaptiveBatchSize(std::size_t most) : most_(most), allowed_(most) {}

  /// A commit was slow, or too many bytes are unanswered.
  void slow(Time now) {
    allowed(now);
    if (halved_once_ && now - halved_ < std::chrono::seconds(1)) return;
    halved_once_ = true;
    halved_ = grown_ = now;
    allowed_ = allowed_ > 1 ? allowed_ / 2 : 1;
  }

  /// Current limit of a call.
  std::size_t allowed(Time now) {
    if (allowed_ >= most_) {
      grown_ = now;
      return most_;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - grown_);
    if (seconds.count() > 0) {
      const auto more = static_cast<std::size_t>(seconds.count());
      allowed_ = more < most_ - allowed_ ? allowed_ + more : most_;
      grown_ += seconds;
    }
    return allowed_;
  }

 private:
  std::size_t most_, allowed_;
  Time grown_{}, halved_{};
  bool halved_once_ = false;
};

// Limits the rate of overdue feeds when a fleet has fallen behind (HTTP P12). Pure.

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
