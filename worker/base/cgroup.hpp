// What the control group of this process may have (Linux, cgroup v2).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace feedmill {

/// The number in a file of the kernel's; nothing for "max", and for files that are not there.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

/// The smallest number that stands in `file`, as "memory.max", of our group and those above it; nothing when none is
/// set. `root`: where /proc and /sys are.
std::optional<std::uint64_t> cgroup_limit(const std::string& file, const std::filesystem::path& root = "/");

}  // namespace feedmill
