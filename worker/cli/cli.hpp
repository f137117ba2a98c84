// The command line as a value: a verb and its values (OPERATIONS §1). Reads only the arguments.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/base/terminal.hpp"
#include "worker/cli/command_tree.hpp"
#include "worker/cli/verb.hpp"

namespace feedmill {

/// A valid command line.
struct CommandLine {
  VerbRow verb;
  OperationValues given;  ///< values of the verb
  TerminalOptions terminal;
  std::filesystem::path config_file;                      ///< --config; "" if absent
  std::map<std::string, std::string, std::less<>> flags;  ///< configuration key → text, for load_config
};

/// Nothing to run: help was requested (exit 0, `text` is data), or the command line is wrong (exit 64).
struct NoCommand {
  int exit = exits::usage;
  std::string text;  ///< help, or one line with the error and its remedy
  bool help = false;
};

/// Reads the arguments after the program's name. Pure.
boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments,
                                                                std::span<const VerbGroup> groups);

/// The tree of verbs as a value, from which help, completions and the manual are derived (OPERATIONS §1).
CommandNode command_tree(std::span<const VerbGroup> groups);

}  // namespace feedmill
