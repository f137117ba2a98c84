// Texts generated from the tree of verbs (OPERATIONS §1).
#pragma once

#include <string>
#include <string_view>

#include "worker/cli/command_tree.hpp"

namespace feedmill {

/// feedmill(1) in man(7) macros: all verbs and flags of `tree`, all configuration options, and the exit codes.
std::string manual_page(const CommandNode& tree);

/// All verbs of `tree` by group, with their arguments, flags, examples and exit codes, as Markdown.
std::string reference_page(const CommandNode& tree);

/// The completion script for `shell`: bash, zsh or fish.
std::string completion_script(const CommandNode& tree, std::string_view shell);

}  // namespace feedmill
