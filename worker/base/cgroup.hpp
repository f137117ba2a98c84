// Limits of this process's control group (Linux, cgroup v2).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace feedmill {

/// The number in a kernel file; empty for "max" and for missing files.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

/// The smallest number in `file` (such as "memory.max") of our cgroup and its ancestors; empty if none is set. `root`:
/// directory of /proc and /sys.
std::optional<std::uint64_t> cgroup_limit(const std::string& file, const std::filesystem::path& root = "/");

}  // namespace feedmill
