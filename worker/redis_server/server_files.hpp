// Files and directories of the private server: locks, records, where things lie.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "worker/base/unique_fd.hpp"

namespace feedmill {

/// Waits a little longer each time, so that what takes milliseconds is not waited for longer. Blocks.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : end_(std::chrono::steady_clock::now() + limit) {}
  bool ended() const { return std::chrono::steady_clock::now() >= end_; }
  void wait();

 private:
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds pause_{1};
};

/// Made when missing, for this user alone; none, with errno, when it cannot be opened.
UniqueFd open_lock_file(const std::filesystem::path& path);
/// `kind`: LOCK_EX or LOCK_SH.
bool try_lock(const UniqueFd& file, int kind);

/// "" when there is none.
std::string read_file(const std::filesystem::path& path);
/// Whole or not at all; false with errno.
bool write_file(const std::filesystem::path& path, const std::string& text);

/// The user a directory belongs to; nothing when it is none, or a link.
std::optional<uid_t> owner_of(const std::filesystem::path& directory);
/// Ours, no link, and nobody else may put files there.
bool is_own_private_directory(const std::filesystem::path& path);

/// Takes the rights of group and others from the server's files in a data directory, whose own mode stays. Changes only
/// regular files of this user, and follows no links.
void close_to_others(const std::filesystem::path& directory);
/// Whether users who are neither its owner nor of its group may list or enter it.
bool is_open_to_others(const std::filesystem::path& directory);

/// $RUNTIME_DIRECTORY, else $XDG_RUNTIME_DIR/feedmill if we own that, else /tmp/feedmill-<uid>. Not created here.
std::filesystem::path default_runtime_dir();

/// 16 digits.
std::string hex_of(std::uint64_t number);

/// server.json: which server last ran on a data directory.
struct ServerRecord {
  std::string name, version, run_id, marker;
  std::filesystem::path socket;

  /// Empty where there is none, or one that is damaged.
  static ServerRecord read(const std::filesystem::path& file);
  /// False with errno.
  bool write(const std::filesystem::path& file) const;
};

/// What the configuration file of the server says (RELIABILITY R2, SECURITY A5).
struct ServerConfiguration {
  std::filesystem::path socket, data_dir, pid_file, log_file;
  std::uint64_t max_memory = 0;  ///< bytes, 0 = no limit of its own

  std::string text() const;
};

}  // namespace feedmill
