// Memory for replies: each has its own arena, freed at once, instead of two allocations per element.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

struct redisReader;

namespace feedmill {

/// The memory of one reply. Not movable: elements point into it.
class ReplyArena {
 public:
  ReplyArena() = default;
  ReplyArena(const ReplyArena&) = delete;
  ReplyArena& operator=(const ReplyArena&) = delete;

  /// Builds the next reply of `reader` here. A reply that announces more than 16.7 million elements, or does not fit in
  /// memory, fails with REDIS_ERR_OOM: hiredis 0.14 would allocate for any announced number before the first element
  /// arrives.
  void build_for(redisReader& reader);

  /// Null if there is no memory.
  void* allocate(std::size_t bytes) noexcept;

 private:
  std::array<std::byte, 512> first_;  // enough for most replies
  std::pmr::monotonic_buffer_resource memory_{first_.data(), first_.size()};
};

}  // namespace feedmill
