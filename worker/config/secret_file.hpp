// Small files that hold one value, most often a secret (SECURITY K3).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace feedmill {

/// The content of a small file without the newline at its end; nothing when it cannot be read.
std::optional<std::string> read_secret(const std::filesystem::path& file);

/// True when users who are neither its owner nor of its group may read it.
bool readable_by_all(const std::filesystem::path& file);

/// What to tell the operator about such a file.
std::string readable_warning(const std::filesystem::path& file);

}  // namespace feedmill
