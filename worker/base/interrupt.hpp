// Handles SIGINT, SIGTERM and hang-up for all verbs except `run`, which handles signals itself (OPERATIONS U5).
#pragma once

#include <chrono>

namespace feedmill {

/// Unwinds an interrupted verb so that it releases its resources. Caught in main(): exit 130.
struct Interrupted {};

/// From now on SIGINT, SIGTERM and (unless ignored) SIGHUP are noted instead of ending the process; a second one ends
/// it. SIGPIPE is ignored: writing reports OutputClosed.
void note_interrupts();

bool interrupted();

/// Polling interval of waits.
inline constexpr std::chrono::milliseconds interrupt_interval{50};

/// Throws Interrupted if a signal was noted. Call it between steps of long work.
void stop_if_interrupted();

}  // namespace feedmill
