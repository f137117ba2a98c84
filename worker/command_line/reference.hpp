// The reference page of the command line: docs/CLI.md.
#pragma once

#include <string>

#include "worker/command_line/command_tree.hpp"

namespace feedmill {

/// All verbs of `tree` by group, with their arguments, flags, examples and exit codes, as Markdown.
std::string reference_page(const CommandNode& tree);

}  // namespace feedmill
