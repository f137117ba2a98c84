// Preloaded into a redis-server, it sets the wall clock to a time that the test chooses: the microseconds in the first
// 8 bytes of the file named by SET_CLOCK. Waits use the monotonic clock, which is unaffected.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <fcntl.h>
#include <unistd.h>

namespace {

std::int64_t microseconds() {
  static const std::atomic<std::int64_t>* const set = [] {
    const char* const path = std::getenv("SET_CLOCK");
    const int fd = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void* const mapped = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    return mapped == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(mapped);
  }();
  if (set != nullptr) return set->load(std::memory_order_relaxed);
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000;
}

}  // namespace

extern "C" {

int gettimeofday(timeval* now, void*) noexcept {
  const std::int64_t at = microseconds();
  *now = {static_cast<time_t>(at / 1'000'000), static_cast<suseconds_t>(at % 1'000'000)};
  return 0;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock != CLOCK_REALTIME) return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  const std::int64_t at = microseconds();
  *now = {static_cast<time_t>(at / 1'000'000), static_cast<long>(at % 1'000'000 * 1000)};
  return 0;
}

time_t time(time_t* now) noexcept {
  const auto at = static_cast<time_t>(microseconds() / 1'000'000);
  if (now != nullptr) *now = at;
  return at;
}

}  // extern "C"
