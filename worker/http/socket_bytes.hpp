#pragma once

#include <cstdint>

namespace feedmill {

/// Bytes received from the peer of a TCP socket so far; 0 if the kernel does not report it.
std::uint64_t received_bytes(int socket);

}  // namespace feedmill
