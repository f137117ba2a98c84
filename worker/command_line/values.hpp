// Errors of the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace feedmill {

/// ", did you mean NAME?" when one of `names` is near, else "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> names);

/// Throws CLI::ValidationError: the command line is wrong, and `text` says why.
[[noreturn]] void refuse(std::string text);

}  // namespace feedmill
