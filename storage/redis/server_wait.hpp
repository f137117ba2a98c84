// A command that waits at the server for an event.
#pragma once

#include <chrono>

namespace feedmill {

/// Sent, with the reply not yet taken.
struct ServerWait {
  int socket = -1;  ///< readable once the reply is there; owned by the connection; -1 if it failed
  std::chrono::steady_clock::time_point until;  ///< the server's deadline: taking the reply after it does not block
};

}  // namespace feedmill
