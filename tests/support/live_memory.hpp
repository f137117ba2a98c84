// How much memory is allocated: counted at malloc, whoever calls it (operator new, pugixml, OpenSSL …).
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedmill {

/// From here on the peak counts anew; what is allocated now counts as nothing. For one thread at a time.
void mark_live_memory();

/// The most that was allocated at once since the mark, in bytes, above what was then.
std::size_t peak_live_memory();

struct Allocations {
  std::uint64_t count = 0, bytes = 0;
};

/// All since the program began.
Allocations allocations();

}  // namespace feedmill
