// Memory for what lives while one document is looked at.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace feedmill {

/// What a SmallArena begins with: a base, so that it is there before what uses it.
struct SmallArenaMemory {
  std::array<std::byte, 12U << 10U> memory;
};

/// Gives the maps and sets of a usual document's posts what they need without asking the heap for each of them; beyond
/// that from the heap. All is freed with it at once. Lives on the stack of one function.
class SmallArena : private SmallArenaMemory, public std::pmr::monotonic_buffer_resource {
 public:
  SmallArena() : std::pmr::monotonic_buffer_resource(memory.data(), memory.size()) {}
};

}  // namespace feedmill
