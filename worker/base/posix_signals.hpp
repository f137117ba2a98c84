// Signals as `run` takes them: they wait from main()'s first line on, so that one that comes before there is anybody to
// obey it is obeyed as soon as there is (RELIABILITY §8).
#pragma once

#include <initializer_list>
#include <optional>

#include <signal.h>

#include "worker/base/unique_fd.hpp"

namespace feedmill {

/// From now on the signals that `run` obeys wait, on this thread and those that it starts.
void hold_signals();
/// They do what they do by default again, those that waited at once. For the thread that held them.
void unblock_posix_signals();

/// A SIGTERM or SIGINT has come that is held on this thread.
bool is_end_waiting();

/// Signals that somebody waits for. Others of their kind are not to be held elsewhere at the same time.
class BlockedPosixSignals {
 public:
  /// They wait until they are taken, on this thread and those that it starts from now on.
  explicit BlockedPosixSignals(std::initializer_list<int> signals);
  /// They are let through, unless they had been held before; so are those that nobody took.
  ~BlockedPosixSignals();
  BlockedPosixSignals(const BlockedPosixSignals&) = delete;
  BlockedPosixSignals& operator=(const BlockedPosixSignals&) = delete;

  /// One has come that nobody has taken. From any thread.
  bool is_waiting() const;
  /// The oldest of them, which is gone then; nothing when there is none.
  std::optional<int> take();
  /// Readable while one waits; ours to close.
  int descriptor() const { return descriptor_.get(); }

 private:
  sigset_t before_{};
  UniqueFd descriptor_;
};

}  // namespace feedmill
