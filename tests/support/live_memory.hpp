// Measures allocated memory: counts at malloc, whatever the caller (operator new, pugixml, OpenSSL …).
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedmill {

/// Restarts the peak from the current amount. For one thread at a time.
void mark_live_memory();

/// The highest amount since the mark, in bytes above the amount at the mark.
std::size_t peak_live_memory();

/// Number and total size of allocations.
struct Allocations {
  std::uint64_t count = 0, bytes = 0;
};

/// All allocations since the program began.
Allocations allocations();

}  // namespace feedmill
