// The machine's name, its clock, and descriptors.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <unistd.h>

namespace feedmill {

/// The hostname reported by the system.
inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// This machine's clock as time since 1970, like Redis' TIME. Stored times come from Redis only.
inline std::chrono::milliseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

/// Difference of our clock from Redis' that is worth a warning, and one that is a fault: due times use Redis' clock,
/// certificates and document dates ours.
inline constexpr std::chrono::seconds clock_warning{5}, clock_fault{300};

/// Owns a file descriptor; -1: none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset() { *this = UniqueFd(); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace feedmill
