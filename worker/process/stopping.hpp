// Stops serving a store (RELIABILITY D1, D2; OPERATIONS U5).
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>

#include "worker/base/posix_signals.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

class Stopping {
 public:
  /// `parts` must outlive this.
  explicit Stopping(ServedParts& parts) : parts_(parts), last_resort_(parts.loop) {}

  /// The first call drains, the second cancels; verbs do not drain. `at_terminal`: an operator pressed Ctrl-C and is
  /// waiting.
  void stop(bool at_terminal);

  /// Whether a verb was stopped.
  bool interrupted() const { return interrupted_; }
  /// Whether the store did not answer in time.
  bool has_left() const { return left_; }
  /// Call when the work has ended; logs the last line if a daemon was stopped.
  void ended(int exit_code);

 private:
  void leave_soon();

  ServedParts& parts_;
  boost::asio::steady_timer last_resort_;
  bool leaving_ = false, interrupted_ = false, left_ = false;
  std::optional<std::chrono::steady_clock::time_point> since_;  // when stop() was first called
};

/// The log line of a daemon's first stop.
std::string what_a_stop_waits_for(const ServedParts& parts, std::size_t in_flight, bool at_terminal);

/// Ends the process after an unexpected exception; an orderly end would destroy objects that running coroutines refer
/// to. As after a kill, leases expire.
[[noreturn]] void cut_off(ServedParts& parts, const std::exception& why);

/// Ends the process immediately, after the log lines are written.
[[noreturn]] void end_now(int exit_code);

/// Waits for blocked signals in a coroutine.
class SignalWait {
 public:
  /// `signals` must outlive this.
  SignalWait(const boost::asio::any_io_executor& executor, BlockedPosixSignals& signals)
      : signals_(signals), descriptor_(executor, ::fcntl(signals.descriptor(), F_DUPFD_CLOEXEC, 3)) {}

  /// Waits for a signal and consumes it.
  boost::asio::awaitable<int> next() {
    for (;;) {
      co_await descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, boost::asio::use_awaitable);
      if (const auto signal = signals_.take()) co_return *signal;
    }
  }

 private:
  BlockedPosixSignals& signals_;
  boost::asio::posix::stream_descriptor descriptor_;
};

// Reloads the configuration (RELIABILITY D5, HTTP D1).

/// Applies the keys that may change at runtime and logs those that need a restart. A rejected configuration has no
/// effect.
boost::asio::awaitable<void> reload(ServedParts& parts);

}  // namespace feedmill
