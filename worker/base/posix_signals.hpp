// Signals of `run`: blocked from main()'s first line on, so that one that arrives before its handler exists is handled
// as soon as it does (RELIABILITY D1).
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>

#include <signal.h>

#include "worker/base/system.hpp"

namespace feedmill {

/// Blocks the signals that `run` handles, on this thread and those it starts later.
void hold_signals();
/// Unblocks them: pending ones take their default action at once. On the thread that called hold_signals().
void unblock_posix_signals();

/// Whether a SIGTERM or SIGINT blocked on this thread is pending.
bool is_end_waiting();

/// Blocks signals so that they can be waited for. Nothing else may block these signals at the same time.
class BlockedPosixSignals {
 public:
  /// Blocks `signals` on this thread and those it starts later.
  explicit BlockedPosixSignals(std::initializer_list<int> signals);
  /// Restores the previous mask; pending signals are delivered unless they were blocked before.
  ~BlockedPosixSignals();
  BlockedPosixSignals(const BlockedPosixSignals&) = delete;
  BlockedPosixSignals& operator=(const BlockedPosixSignals&) = delete;

  /// Whether a signal is pending. From any thread.
  bool is_waiting() const;
  /// Takes the oldest pending signal; empty if there is none.
  std::optional<int> take();
  /// Readable while a signal is pending; owned by this.
  int descriptor() const { return descriptor_.get(); }

 private:
  sigset_t before_{};
  UniqueFd descriptor_;
};

// Handles SIGINT, SIGTERM and hang-up for all verbs except `run`, which handles signals itself (OPERATIONS U5).

/// Unwinds an interrupted verb so that it releases its resources. Caught in main(): exit 130.
struct Interrupted {};

/// From now on SIGINT, SIGTERM and (unless ignored) SIGHUP are noted instead of ending the process; a second one ends
/// it. SIGPIPE is ignored: writing reports OutputClosed.
void note_interrupts();

/// Whether a signal has been noted.
bool interrupted();

/// How often waits check interrupted().
inline constexpr std::chrono::milliseconds interrupt_interval{50};

/// Throws Interrupted if a signal was noted. Call it between steps of long work.
void stop_if_interrupted();

}  // namespace feedmill
