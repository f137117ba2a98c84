#include "tests/support/live_memory.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <malloc.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FEEDMILL_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FEEDMILL_SANITIZED
#endif

namespace feedmill {
namespace {

std::atomic<std::int64_t> live{0}, peak{0}, mark{0};
std::atomic<std::uint64_t> blocks_ever{0}, bytes_ever{0};

void add(std::int64_t bytes) {
  if (bytes > 0) {
    blocks_ever.fetch_add(1, std::memory_order_relaxed);
    bytes_ever.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  }
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

}  // namespace

void mark_live_memory() {
  mark = live.load();
  peak = live.load();
}

std::size_t peak_live_memory() {
  return static_cast<std::size_t>(peak - mark);
}

Allocations allocations() {
  return {blocks_ever.load(), bytes_ever.load()};
}

}  // namespace feedmill

#if defined(FEEDMILL_SANITIZED)

// The sanitizer owns malloc; its hooks report each block.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void*);
}

namespace {

const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) { feedmill::add(static_cast<std::int64_t>(size)); },
    [](const volatile void* block) {
      if (block != nullptr) feedmill::add(-static_cast<std::int64_t>(__sanitizer_get_allocated_size(block)));
    });

}  // namespace

#else

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): glibc's own
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier)

static void* counted(void* block) {
  if (block != nullptr) feedmill::add(static_cast<std::int64_t>(malloc_usable_size(block)));
  return block;
}

void* malloc(std::size_t size) {
  return counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) {
  return counted(__libc_calloc(count, size));
}
void* realloc(void* block, std::size_t size) {
  const auto before = static_cast<std::int64_t>(block != nullptr ? malloc_usable_size(block) : 0);
  void* const moved = __libc_realloc(block, size);
  if (moved == nullptr && size != 0) return nullptr;
  feedmill::add(-before);
  return counted(moved);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = counted(__libc_memalign(alignment, size));
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* block) {
  if (block != nullptr) feedmill::add(-static_cast<std::int64_t>(malloc_usable_size(block)));
  __libc_free(block);
}

}  // extern "C"

#endif
