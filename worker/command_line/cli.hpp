// The command line as a value: which verb with which arguments (OPERATIONS §1). Reads arguments and nothing else.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/base/exits.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/command_tree.hpp"
#include "worker/command_line/feed_verbs.hpp"
#include "worker/command_line/operation_verb.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/command_line/post_verbs.hpp"
#include "worker/command_line/question_verbs.hpp"
#include "worker/command_line/user_verbs.hpp"

namespace feedmill {

/// Lists of verbs, in the order of the help; operations stand between the second and the third.
using VerbGroups = std::tuple<FeedVerbs, PostVerbs, UserVerbs>;
using LaterVerbGroups = std::tuple<QuestionVerbs, OperationVerbs>;

template <class... Groups>
auto all_verbs(std::tuple<Groups...>) -> decltype(std::tuple_cat(typename Groups::List()...));
template <class... Kinds>
auto any_verb(std::tuple<Kinds...>) -> std::variant<VersionVerb, OperationVerb, Kinds...>;

/// One of the structs in those lists.
using Verb = decltype(any_verb(std::tuple_cat(all_verbs(VerbGroups()), all_verbs(LaterVerbGroups()))));

struct CommandLine {
  Verb verb;
  TerminalOptions terminal;
  std::filesystem::path config_file;                      ///< --config, "" when not given
  std::map<std::string, std::string, std::less<>> flags;  ///< configuration key → text, for load_config
};

/// Nothing to carry out: help was asked for (exit 0, `text` is data), or the command line is wrong (exit 64).
struct NoCommand {
  int exit = exits::usage;
  std::string text;  ///< help, or one line that says what is wrong and what to do
  bool help = false;
};

/// Reads the arguments after the program's name. Pure.
boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments);

/// The tree of verbs as a value: what help, completions and the manual are made from (OPERATIONS U7).
CommandNode command_tree();

}  // namespace feedmill
