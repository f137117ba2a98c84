// Waits for effects of other processes.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace feedmill::test {

/// Polls `done` until it returns true, for at most 30 s; returns the last result.
template <class Done>
bool eventually(const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // between polls of another process
  }
  return true;
}

/// Aborts the test program unless `done` returns true within a minute. That is twice the time for which a paused
/// sentinel only observes (TILT mode). `what` names the condition in the message.
inline void await_or_abort(const char* what, const std::function<bool()>& done) {
  if (eventually(done) || eventually(done)) return;
  std::fprintf(stderr, "%s did not happen within a minute\n", what);
  std::abort();
}

}  // namespace feedmill::test
