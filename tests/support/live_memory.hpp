// How much memory is allocated: counted at malloc, whichever caller it has (operator new, pugixml, OpenSSL …).
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedmill {

/// Restarts the peak at zero; memory allocated now does not count. For one thread at a time.
void mark_live_memory();

/// The most that was allocated at once since the mark, in bytes, above the amount at the mark.
std::size_t peak_live_memory();

struct Allocations {
  std::uint64_t count = 0, bytes = 0;
};

/// All since the program began.
Allocations allocations();

}  // namespace feedmill
