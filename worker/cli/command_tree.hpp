// The command line's verbs and flags as plain values, for help, completions, the manual and the reference page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

/// Known values of a flag or argument, for completions.
struct CommandValues {
  std::vector<std::string> words;  ///< a word that ends with "=" takes a value
  bool channels = false;           ///< also the store's channel names

  bool any() const { return channels || !words.empty(); }
};

/// A flag, with or without a value.
struct CommandFlag {
  std::vector<std::string> names;  ///< "-q", "--quiet"
  std::string value;               ///< name of its value: "URL", "DURATION"; "" = a switch
  std::string about;
  std::string group;  ///< its heading in the help
  CommandValues values;
};

/// A positional argument.
struct CommandArgument {
  std::string name, about;
  bool required = false;
  bool many = false;
  CommandValues values;

  /// Its form in a usage line: "URL", "[ID...]".
  std::string usage() const {
    const std::string text = name + (many ? "..." : "");
    return required ? text : "[" + text + "]";
  }
};

/// Extra lines of a help text.
struct CommandNotes {
  std::string title;
  std::vector<std::string> lines;
};

/// A verb, a word that groups verbs, or the program itself at the root.
struct CommandNode {
  std::string name, about, group;
  CommandNotes notes;                ///< none if it has no lines
  std::vector<std::string> example;  ///< lines
  std::string exits;                 ///< exit codes with a special meaning; "" = none
  bool changes = false;              ///< changes or removes stored data
  std::vector<CommandFlag> flags;
  std::vector<CommandArgument> arguments;
  std::vector<CommandNode> verbs;  ///< subcommands in the order of the help, grouped
};

/// An exit code and its meaning.
struct ExitCode {
  std::string_view code, meaning;
};
/// The usual exit codes (OPERATIONS §1).
std::span<const ExitCode> exit_codes();

/// The text of `-h` for `node`; `path`: its words, such as "entry put", or "" for the program itself.
std::string help_text(const CommandNode& node, std::string_view path);

}  // namespace feedmill
