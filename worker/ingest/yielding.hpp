// When a worker checks for due feeds while another process is primary (RELIABILITY L30). Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "storage/redis/values.hpp"

namespace feedmill {

class Yielding {
 public:
  using Clock = std::chrono::steady_clock;

  /// `poll`: interval of the primary's checks.
  explicit Yielding(Milliseconds poll) : poll_(poll) {}

  /// Sets whether another process is primary.
  void set(bool yields) {
    if (yields && !yields_) *this = Yielding(poll_);
    yields_ = yields;
  }
  bool is_set() const { return yields_; }

  /// Whether it leaves the work to the primary now. If not, it is the primary, or helps by working like it.
  bool rests(Clock::time_point now) const { return yields_ && now >= helps_until_; }
  /// Interval of checks while it rests; `until_due`: no feed is known to be due earlier.
  Milliseconds rest(Milliseconds until_due = {}) const {
    return rest_ < std::max(longest_rest, poll_) ? rest_ : std::max(rest_, until_due);
  }

  /// Records a check that found feeds overdue by `due_for`, 0 = none; `all`: it found all due feeds. Helps if the
  /// primary falls behind, and for longer if that recurs soon.
  void looked(Milliseconds due_for, bool all, Clock::time_point now) {
    if (!rests(now)) return;
    if (!all || due_for > poll_ + late) {
      help_ = std::clamp(2 * help_, shortest_help, longest_help);
      helps_until_ = now + help_;
      rest_ = poll_ / 2;
    } else if (const Milliseconds longest = std::max(longest_rest, poll_); rest_ < longest) {
      rest_ = std::min(2 * rest_, longest);
    } else {
      help_ = {};
    }
  }

 private:
  static constexpr Milliseconds longest_rest{10'000};  // time to detect that the primary is gone
  static constexpr Milliseconds late{1'000}, shortest_help{10'000}, longest_help{60'000};

  Milliseconds poll_;
  bool yields_ = false;
  Milliseconds rest_ = poll_, help_{};  // interval of checks; duration of help
  Clock::time_point helps_until_;
};

}  // namespace feedmill
