// Documents that met a bug, kept for whoever is to mend it (SECURITY Q4, debug.keep_poison).
#pragma once

#include <filesystem>
#include <string_view>

namespace feedmill {

inline constexpr std::size_t most_kept_of_poison = 64U << 10U;

/// Writes the beginning of `body`, as it was received, to `directory`: <feed id>.poison, in place of an earlier one.
/// False when that is not possible. Blocks.
bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body);

}  // namespace feedmill
