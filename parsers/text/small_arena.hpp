// Memory for data that lives while one document is processed.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace feedmill {

/// The arena's first block: a base class, so that it is constructed before its user.
struct SmallArenaMemory {
  std::array<std::byte, 12U << 10U> memory;
};

/// Serves the maps and sets for a typical document's posts without heap allocations; takes more from the heap if
/// needed. Frees everything when destroyed. Lives on the stack of one function.
class SmallArena : private SmallArenaMemory, public std::pmr::monotonic_buffer_resource {
 public:
  SmallArena() : std::pmr::monotonic_buffer_resource(memory.data(), memory.size()) {}
};

}  // namespace feedmill
