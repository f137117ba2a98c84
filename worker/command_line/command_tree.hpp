// The command line's verbs and flags as plain values.
#pragma once

#include <string>
#include <vector>

namespace feedmill {

struct CommandFlag {
  std::vector<std::string> names;  ///< "-q", "--quiet"
  std::string value;               ///< what it takes: "URL", "DURATION"; "" = nothing
  std::string about;
};

/// An argument without a flag.
struct CommandArgument {
  std::string name, about;
};

/// A verb, a group of verbs, or at the root the program.
struct CommandNode {
  std::string name, about;
  std::string notes;  ///< what its help says besides: "Example:\n  feedmill …"
  std::vector<CommandFlag> flags;
  std::vector<CommandArgument> arguments;
  std::vector<CommandNode> verbs;  ///< below it, in the order of the help
};

}  // namespace feedmill
