// Rate limit of a listener: allows bursts after a pause, and keeps a flood from using the whole loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace feedmill {

class TokenBucket {
 public:
  /// Requests a second on average, and the largest burst.
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  /// Whether another request may be answered now; counts it.
  bool take() {
    fill();
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  /// Whether a full burst is allowed again.
  bool is_full() {
    fill();
    return tokens_ >= burst_;
  }

 private:
  void fill() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - std::exchange(counted_, now);
    tokens_ = std::min(tokens_ + passed.count() * per_second_, burst_);
  }

  double per_second_, burst_;
  double tokens_;
  std::chrono::steady_clock::time_point counted_ = std::chrono::steady_clock::now();
};

}  // namespace feedmill
