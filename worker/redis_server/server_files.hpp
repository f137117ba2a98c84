// Files and directories of the private server: locks, records, locations.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "worker/base/system.hpp"

namespace feedmill {

/// Waits with growing delays, so that short waits stay short. Blocks.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : end_(std::chrono::steady_clock::now() + limit) {}
  bool ended() const { return std::chrono::steady_clock::now() >= end_; }
  void wait();

 private:
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds pause_{1};
};

/// Opens a lock file, creating it for this user only; empty, with errno, on failure.
UniqueFd open_lock_file(const std::filesystem::path& path);
/// Tries to take the lock without waiting. `kind`: LOCK_EX or LOCK_SH.
bool try_lock(const UniqueFd& file, int kind);

/// The content of a file; "" if it cannot be read.
std::string read_file(const std::filesystem::path& path);
/// Replaces a file as a whole or leaves it unchanged; false with errno.
bool write_file(const std::filesystem::path& path, const std::string& text);

/// The owner of a directory; empty if `directory` is a link or no directory.
std::optional<uid_t> owner_of(const std::filesystem::path& directory);
/// Whether the directory is ours, not a link, and not writable by others.
bool is_own_private_directory(const std::filesystem::path& path);

/// Removes the permissions of group and others from the server's files in a data directory, but not from the directory
/// itself. Changes only regular files of this user; does not follow links.
void close_to_others(const std::filesystem::path& directory);
/// Whether users other than its owner and its group may list or enter it.
bool is_open_to_others(const std::filesystem::path& directory);

/// $RUNTIME_DIRECTORY, else $XDG_RUNTIME_DIR/feedmill if we own the latter, else /tmp/feedmill-<uid>. Does not create
/// it.
std::filesystem::path default_runtime_dir();

/// `number` as 16 hex digits.
std::string hex_of(std::uint64_t number);

/// Contents of the server's configuration file (RELIABILITY R2, SECURITY A5). `max_memory`: bytes, 0 = no limit.
std::string server_configuration(const std::filesystem::path& socket, const std::filesystem::path& data_dir,
                                 const std::filesystem::path& pid_file, const std::filesystem::path& log_file,
                                 std::uint64_t max_memory);

}  // namespace feedmill
