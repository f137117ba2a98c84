// Whether the loop and the pool get on with their work: what /livez and the watchdog ask (RELIABILITY H1, N1).
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "worker/admin/admin.hpp"

namespace feedmill {

/// Threads that talk to Redis are not looked at: a store that hangs must not have workers restarted. Lives on the loop;
/// `cpu` outlives it, and is joined before it goes.
class Liveness {
 public:
  explicit Liveness(boost::asio::thread_pool& cpu) : cpu_(cpu) {}

  /// Ticks once a second, on the loop and through the pool's queue, until cancelled.
  boost::asio::awaitable<void> tick();

  /// "loop" and "threads": each passes when it has ticked within the last 10 s.
  std::vector<Check> checks() const;
  bool alive() const;

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::thread_pool& cpu_;
  Clock::time_point looped_ = Clock::now();
  Clock::time_point asked_ = Clock::now();  // when the pool was last asked for a tick
  std::atomic<bool> answered_ = true;       // by a thread of the pool
};

}  // namespace feedmill
