// Whether the loop and the reading threads make progress, for /livez and the watchdog (RELIABILITY H1, N1).
#pragma once

#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/ingest/reading_threads.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// Ignores the threads that call Redis: a hanging store must not cause restarts of workers. Lives on the loop;
/// `reading` must outlive this.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Liveness(const ReadingThreads& reading) : reading_(reading) {}

  /// Ticks once a second on the loop, until cancelled.
  boost::asio::awaitable<void> tick();

  /// The check "loop" passes if the last tick was at most 10 s ago. "threads" fails if a thread has been reading one
  /// document for longer than any document can take; busy threads pass.
  std::vector<Check> checks(Clock::time_point now = Clock::now()) const;
  bool alive() const;

 private:
  const ReadingThreads& reading_;
  Clock::time_point looped_ = Clock::now();
};

}  // namespace feedmill
