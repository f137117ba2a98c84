// Random tokens, and tokens derived from text.
#pragma once

#include <string>
#include <string_view>

namespace feedmill {

inline constexpr std::size_t token_length = 26;

/// 128 random bits as 26 characters of a-z2-7. Throws std::runtime_error if no random numbers are available.
std::string random_token();
/// 26 characters of a-z2-7, derived from the SHA-256 of `text`.
std::string token_of(std::string_view text);
/// Whether `text` has the form of a token.
bool is_token(std::string_view text);

}  // namespace feedmill
