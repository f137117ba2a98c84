// The store at the start: waited for, checked.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "worker/process/parts.hpp"

namespace feedmill {

/// Connects and checks. A daemon waits for a store that is away, until it is told to stop; everything else says so and
/// ends. Returns an exit code: exits::done, also when it was told to stop, else why the process must end.
boost::asio::awaitable<int> open_store(ServedParts& parts);

}  // namespace feedmill
