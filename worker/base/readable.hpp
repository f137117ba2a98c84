// Waits on the loop for a socket that somebody else reads.
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

namespace feedmill {

/// Until `socket`, which stays open meanwhile, can be read without blocking, or `longest` is over; at once where it is
/// -1, or no descriptor is left for watching it. The socket itself is left as it is. Not cancellable.
boost::asio::awaitable<void> until_readable(int socket, std::chrono::milliseconds longest);

}  // namespace feedmill
