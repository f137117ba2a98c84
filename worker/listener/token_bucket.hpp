// How many requests a listener answers: what comes after a pause is taken at once, a flood is not the loop's only work.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace feedmill {

class TokenBucket {
 public:
  /// So many a second in the long run, and so many at once.
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}

  /// Whether one more may be answered now, which is counted.
  bool take() {
    fill();
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }
  /// Nothing has been taken for so long that as many may come at once as ever.
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
