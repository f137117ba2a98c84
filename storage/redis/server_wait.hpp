// A command that waits at the server for something to happen.
#pragma once

#include <chrono>

namespace feedmill {

/// One that was sent, and whose answer is yet to be taken.
struct ServerWait {
  int socket = -1;  ///< can be read once there is an answer; belongs to the connection; -1 of one that has failed
  std::chrono::steady_clock::time_point until;  ///< when the server has had its time: who takes it then does not block
};

}  // namespace feedmill
