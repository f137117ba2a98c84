// When a worker looks for due feeds while another process does so first (RELIABILITY L30). Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "storage/redis/values.hpp"

namespace feedmill {

class Yielding {
 public:
  using Clock = std::chrono::steady_clock;

  /// `poll`: how often whoever stands first looks.
  explicit Yielding(Milliseconds poll) : poll_(poll) {}

  /// Whether another process stands first.
  void set(bool yields) {
    if (yields && !yields_) *this = Yielding(poll_);
    yields_ = yields;
  }
  bool is_set() const { return yields_; }

  /// Whether it leaves looking to the first now. When not, it is the first, or helps it by working as the first does.
  bool rests(Clock::time_point now) const { return yields_ && now >= helps_until_; }
  /// From one look to the next while it rests; `until_due`: nothing is known to become due before.
  Milliseconds rest(Milliseconds until_due = {}) const {
    return rest_ < std::max(longest_rest, poll_) ? rest_ : std::max(rest_, until_due);
  }

  /// A look has found feeds that were due for so long, 0 = none; `all`: and no more than that. It helps where the first
  /// has left something undone, and longer if that is so again soon.
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
  static constexpr Milliseconds longest_rest{10'000};  // what may pass before it is seen that the first is gone
  static constexpr Milliseconds late{1'000}, shortest_help{10'000}, longest_help{60'000};

  Milliseconds poll_;
  bool yields_ = false;
  Milliseconds rest_ = poll_, help_{};  // between two looks; while it helps
  Clock::time_point helps_until_;
};

}  // namespace feedmill
