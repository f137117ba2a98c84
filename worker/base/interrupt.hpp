// Ctrl-C, SIGTERM and a terminal that goes, for verbs that end at once; `run` has its own way (OPERATIONS U5).
#pragma once

#include <chrono>

namespace feedmill {

/// Thrown out of a verb that was interrupted, so that what it holds is let go. Caught in main(): exit 130.
struct Interrupted {};

/// From now on SIGINT, SIGTERM and, unless it is ignored, SIGHUP are noted in place of ending the process; a second one
/// ends it. SIGPIPE is ignored: writing says so (OutputClosed).
void note_interrupts();

bool interrupted();

/// How often what waits should look.
inline constexpr std::chrono::milliseconds interrupt_interval{50};

/// Throws Interrupted when a signal was noted. Call it between steps of what takes long.
void stop_if_interrupted();

}  // namespace feedmill
