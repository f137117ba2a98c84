// How who serves a store is told to stop (RELIABILITY D1, D2; OPERATIONS U5).
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "worker/process/parts.hpp"

namespace feedmill {

class Stopping {
 public:
  /// `parts` outlives this.
  explicit Stopping(ServedParts& parts) : parts_(parts), last_resort_(parts.loop) {}

  /// The first time drains, the second cancels; a verb does not drain. `at_terminal`: by somebody who pressed Ctrl-C,
  /// and looks on.
  void stop(bool at_terminal);

  /// A verb was interrupted.
  bool interrupted() const { return interrupted_; }
  /// The store did not answer in time.
  bool has_left() const { return left_; }
  /// Everything has ended in time. The last line of the log, when it was told to stop.
  void ended(int exit_code);

 private:
  void leave_soon();

  ServedParts& parts_;
  boost::asio::steady_timer last_resort_;
  bool leaving_ = false, interrupted_ = false, left_ = false;
  std::optional<std::chrono::steady_clock::time_point> since_;  // told to stop
};

/// For the log, of a daemon that was told to stop the first time.
std::string what_a_stop_waits_for(const ServedParts& parts, std::size_t in_flight, bool at_terminal);

/// Ends the process after an exception that nothing could go on behind: what is under way on the loops refers to what
/// would be destroyed first. As after a kill, leases end by themselves.
[[noreturn]] void cut_off(ServedParts& parts, const std::exception& why);

/// Ends the process as it is, once the lines of the log are written.
[[noreturn]] void end_now(int exit_code);

}  // namespace feedmill
