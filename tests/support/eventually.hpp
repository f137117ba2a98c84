// Waiting for what another process does.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace feedmill::test {

/// Polls until `done` says true, for half a minute at most; the last answer.
template <class Done>
bool eventually(const Done& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // between looks at another process
  }
  return true;
}

/// Ends the test program unless `done` says true within a minute: twice the time for which a sentinel that was stopped
/// only observes (TILT mode). `what` names it in the message.
inline void await_or_abort(const char* what, const std::function<bool()>& done) {
  if (eventually(done) || eventually(done)) return;
  std::fprintf(stderr, "%s did not happen within a minute\n", what);
  std::abort();
}

}  // namespace feedmill::test
