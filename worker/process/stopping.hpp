// How a process is told to stop (RELIABILITY D1, D2; OPERATIONS U5).
#pragma once

#include <chrono>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/base/posix_signals.hpp"
#include "worker/process/parts.hpp"

namespace feedmill {

class Stopping {
 public:
  /// Both outlive this.
  Stopping(ProcessParts& parts, BlockedPosixSignals& signals)
      : parts_(parts), signals_(signals), last_resort_(parts.loop) {}

  /// The first SIGTERM or SIGINT drains, the second cancels; a verb does not drain. Until cancelled.
  boost::asio::awaitable<void> obey();

  /// A verb was interrupted.
  bool interrupted() const { return interrupted_; }
  /// Everything has ended in time.
  void ended() { last_resort_.cancel(); }
  /// The last line of the log, when it was told to stop.
  void tell_end(int exit_code);

 private:
  /// `at_terminal`: by somebody who pressed Ctrl-C, and looks on.
  void stop(bool at_terminal);
  void leave_soon();

  ProcessParts& parts_;
  BlockedPosixSignals& signals_;
  boost::asio::steady_timer last_resort_;
  bool leaving_ = false, interrupted_ = false;
  std::optional<std::chrono::steady_clock::time_point> since_;  // told to stop
};

}  // namespace feedmill
