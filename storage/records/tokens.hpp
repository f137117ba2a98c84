// Names that nobody can guess, and names made of others.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

inline constexpr std::size_t token_length = 26;

/// 128 random bits as 26 characters of a-z2-7. Throws std::runtime_error when there are no random numbers to be had.
std::string random_token();
/// 26 characters of a-z2-7 made of the SHA-256 of `text`.
std::string token_of(std::string_view text);
/// Looks like one.
bool is_token(std::string_view text);

}  // namespace feedmill
