// Whether the loop and the reading threads make progress, for /livez and the watchdog (RELIABILITY H1, N1).
#pragma once

#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/ingest/reading_threads.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

/// Ignores threads that talk to Redis: a hanging store must not get workers restarted. Lives on the loop; `reading`
/// must outlive this.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Liveness(const ReadingThreads& reading) : reading_(reading) {}

  /// Ticks once a second, on the loop, until cancelled.
  boost::asio::awaitable<void> tick();

  /// "loop" passes if it has ticked within the last 10 s. "threads" passes however busy they are, and fails if one has
  /// been reading a document for longer than any takes.
  std::vector<Check> checks(Clock::time_point now = Clock::now()) const;
  bool alive() const;

 private:
  const ReadingThreads& reading_;
  Clock::time_point looped_ = Clock::now();
};

}  // namespace feedmill
