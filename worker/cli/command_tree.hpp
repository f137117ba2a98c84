// The command line's verbs and flags as plain values: what help, completions, the manual and the reference page show.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// What a value may be, as far as completions can know.
struct CommandValues {
  std::vector<std::string> words;  ///< a word that ends with "=" takes a value
  bool channels = false;           ///< also the names of the channels in the store

  bool any() const { return channels || !words.empty(); }
};

struct CommandFlag {
  std::vector<std::string> names;  ///< "-q", "--quiet"
  std::string value;               ///< name of its value: "URL", "DURATION"; "" = a switch
  std::string about;
  std::string group;  ///< the heading it stands under
  CommandValues values;
};

/// An argument without a flag.
struct CommandArgument {
  std::string name, about;
  bool required = false;
  bool many = false;
  CommandValues values;

  /// As a line of usage has it: "URL", "[ID...]".
  std::string usage() const {
    const std::string text = name + (many ? "..." : "");
    return required ? text : "[" + text + "]";
  }
};

/// Further lines of a help text.
struct CommandNotes {
  std::string title;
  std::vector<std::string> lines;
};

/// A verb, verbs below one word, or at the root the program.
struct CommandNode {
  std::string name, about, group;
  CommandNotes notes;                ///< no lines: none
  std::vector<std::string> example;  ///< lines
  std::string exits;                 ///< exit codes with a special meaning; "" = none
  std::vector<CommandFlag> flags;
  std::vector<CommandArgument> arguments;
  std::vector<CommandNode> verbs;  ///< below it, in the order of the help, those of a group together
};

struct ExitCode {
  std::string_view code, meaning;
};
/// What exit codes usually mean (OPERATIONS §1).
std::span<const ExitCode> exit_codes();

/// What `-h` shows of `node`, to which the words `path` lead: "entry put", "" for the program itself.
std::string help_text(const CommandNode& node, std::string_view path);

}  // namespace feedmill
