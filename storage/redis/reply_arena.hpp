// Where answers are built: each in memory of its own that goes as a whole, instead of two pieces for each element.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

struct redisReader;

namespace feedmill {

/// The memory of one answer. Not moved: what is built in it points into it.
class ReplyArena {
 public:
  ReplyArena() = default;
  ReplyArena(const ReplyArena&) = delete;
  ReplyArena& operator=(const ReplyArena&) = delete;

  /// Has the next answer of `reader` built here. An answer that announces more than 16.7 million elements, or for which
  /// there is no memory, ends as one there is no memory for (REDIS_ERR_OOM): hiredis 0.14 makes room for as many as the
  /// server likes, before the first has come.
  void build_for(redisReader& reader);

  /// Null when there is no memory.
  void* allocate(std::size_t bytes) noexcept;

 private:
  std::array<std::byte, 512> first_;  // of most answers all
  std::pmr::monotonic_buffer_resource memory_{first_.data(), first_.size()};
};

}  // namespace feedmill
