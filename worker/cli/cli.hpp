// The command line as a value: which verb with which values (OPERATIONS §1). Reads arguments and nothing else.
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

struct CommandLine {
  bool version = false;  ///< --version, without a verb
  VerbRow verb;
  OperationValues given;  ///< of the verb
  TerminalOptions terminal;
  std::filesystem::path config_file;                      ///< --config, "" when not given
  std::map<std::string, std::string, std::less<>> flags;  ///< configuration key → text, for load_config
};

/// Nothing to carry out: help was asked for (exit 0, `text` is data), or the command line is wrong (exit 64).
struct NoCommand {
  int exit = exits::usage;
  std::string text;  ///< help, or one line with the error and its remedy
  bool help = false;
};

/// Reads the arguments after the program's name. Pure.
boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments,
                                                                std::span<const VerbGroup> groups);

/// The tree of verbs as a value: what help, completions and the manual are made from (OPERATIONS §1).
CommandNode command_tree(std::span<const VerbGroup> groups);

}  // namespace feedmill
