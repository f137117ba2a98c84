// Errors for words and flags that the command line does not have. They name the right verb or flag (OPERATIONS §1).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "worker/cli/command_tree.hpp"

namespace feedmill {

struct Option;

/// The error in the words of `arguments` that should name a verb; "" if they name one. Looks only at the first words:
/// values and flags are the parser's concern.
std::string misnamed_verb(const CommandNode& tree, std::span<const std::string> arguments);

/// The error for a flag that neither the verb at `path` nor the program has. `path`: "entry put"; "" without a verb.
std::string unknown_flag(const CommandNode& tree, std::string_view path, std::string_view flag);

/// The error for the flag of an option that the verb at `path` does not use.
std::string unused_flag(std::string_view path, const Option& option);

}  // namespace feedmill
