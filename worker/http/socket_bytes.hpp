#pragma once

#include <cstdint>

namespace feedmill {

/// Bytes that the peer of a TCP socket has sent and we have received so far; 0 when the kernel will not say.
std::uint64_t received_bytes(int socket);

}  // namespace feedmill
