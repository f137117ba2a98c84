// Opening a store at the start: wait, connect, check.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"

namespace feedmill {

/// Connects and checks. A daemon waits for an unreachable store until it is stopped; other modes log the error and end.
/// Returns an exit code: exits::done if open or stopped, else the reason to end the process.
boost::asio::awaitable<int> open_store(ServedParts& parts);

}  // namespace feedmill
