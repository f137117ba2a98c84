// Scripts that complete verbs and flags in shells (OPERATIONS U7).
#pragma once

#include <string>
#include <string_view>

#include "worker/command_line/command_tree.hpp"

namespace feedmill {

/// `shell`: bash, zsh or fish.
std::string completion_script(const CommandNode& tree, std::string_view shell);

}  // namespace feedmill
