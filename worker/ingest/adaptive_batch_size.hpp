// Limits how many feeds one claim call takes (RELIABILITY B2). Pure: the time is an argument.
#pragma once

#include <chrono>
#include <cstddef>

namespace feedmill {

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

}  // namespace feedmill
