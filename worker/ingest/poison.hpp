// Keeps documents that triggered a bug, for debugging (SECURITY Q4, debug.keep_poison).
#pragma once

#include <filesystem>
#include <string_view>

namespace feedmill {

inline constexpr std::size_t most_kept_of_poison = 64U << 10U;

/// Writes the start of the received `body` to <feed id>.poison in `directory`, replacing an earlier one. False if that
/// fails. Blocks.
bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body);

}  // namespace feedmill
