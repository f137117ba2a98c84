// The manual page (OPERATIONS U7).
#pragma once

#include <string>

#include "worker/command_line/command_tree.hpp"

namespace feedmill {

/// feedmill(1) in man(7) macros: all verbs and flags of `tree`, all options of the configuration, the exit codes.
std::string manual_page(const CommandNode& tree);

}  // namespace feedmill
