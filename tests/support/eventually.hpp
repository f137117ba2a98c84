// Waiting for what another process does.
#pragma once

#include <chrono>
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

}  // namespace feedmill::test
