// Whether the loop and the threads that read get on with their work: what /livez and the watchdog ask (RELIABILITY H1,
// N1).
#pragma once

#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "worker/ingest/reading_threads.hpp"
#include "worker/observe/check.hpp"

namespace feedmill {

/// Threads that talk to Redis are not looked at: a store that hangs must not have workers restarted. Lives on the loop;
/// `reading` outlives it.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Liveness(const ReadingThreads& reading) : reading_(reading) {}

  /// Ticks once a second, on the loop, until cancelled.
  boost::asio::awaitable<void> tick();

  /// "loop" passes when it has ticked within the last 10 s. "threads" passes however busy they are, and fails when one
  /// has been at a document for longer than any document takes.
  std::vector<Check> checks(Clock::time_point now = Clock::now()) const;
  bool alive() const;

 private:
  const ReadingThreads& reading_;
  Clock::time_point looped_ = Clock::now();
};

}  // namespace feedmill
