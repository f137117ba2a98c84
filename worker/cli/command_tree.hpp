// The command line's verbs and flags as plain values; texts and errors made from them (OPERATIONS §1).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

struct Option;

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

/// A node and its words: "entry put"; "" for the program itself.
struct VerbPlace {
  std::string path;
  const CommandNode* node;

  /// The place of a verb of this node.
  VerbPlace below(const CommandNode& verb) const { return {path.empty() ? verb.name : path + " " + verb.name, &verb}; }
};

/// An exit code and its meaning.
struct ExitCode {
  std::string_view code, meaning;
};
/// The usual exit codes (OPERATIONS §1).
std::span<const ExitCode> exit_codes();

/// The text of `-h` for `node`; `path`: its words, such as "entry put", or "" for the program itself.
std::string help_text(const CommandNode& node, std::string_view path);

/// feedmill(1) in man(7) macros: all verbs and flags of `tree`, all configuration options, and the exit codes.
std::string manual_page(const CommandNode& tree);

/// All verbs of `tree` by group, with their arguments, flags, examples and exit codes, as Markdown.
std::string reference_page(const CommandNode& tree);

/// The completion script for `shell`: bash, zsh or fish.
std::string completion_script(const CommandNode& tree, std::string_view shell);

// Errors for words and flags that the command line does not have. They name the right verb or flag.

/// The error in the words of `arguments` that should name a verb; "" if they name one. Looks only at the first words:
/// values and flags are the parser's concern.
std::string misnamed_verb(const CommandNode& tree, std::span<const std::string> arguments);

/// The error for the first argument that is a word after one dash, "-create-admin"; "" if there is none. CLI11 would
/// read its letters as flags: -healthcheck would show help and exit with 0.
std::string dashed_word(const CommandNode& tree, std::span<const std::string> arguments);

/// The error for a flag that neither the verb at `path` nor the program has. `path`: "entry put"; "" without a verb.
std::string unknown_flag(const CommandNode& tree, std::string_view path, std::string_view flag);

/// The error for the flag of an option that the verb at `path` does not use.
std::string unused_flag(std::string_view path, const Option& option);

}  // namespace feedmill
