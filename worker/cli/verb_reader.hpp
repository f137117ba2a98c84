// Arguments and flags of a verb, declared once for the parser, the help, the completions and the manual; their values
// from the command line.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/cli/command_tree.hpp"
#include "worker/cli/verb.hpp"
#include "worker/operations/operation.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace feedmill {

/// Declares the arguments and flags of a verb in the order of its help. Destinations of values must outlive parsing.
class Arguments {
 public:
  /// Receives a value as typed; may refuse() it.
  using Read = std::function<void(const std::string& text)>;

  /// Adds the declarations to both, which must outlive this; `app` until parsing ends.
  Arguments(CLI::App& app, CommandNode& node);

  /// A positional argument; the parser stores its values in `to`.
  void argument(const OperationField& field, std::vector<std::string>& to);

  /// A switch: "--json", or "-q,--quiet". "--json=false" sets `to` to false.
  void flag(const std::string& names, bool& to, const std::string& about);
  void flag(const std::string& names, std::function<void()> given, const std::string& about);
  /// An option with a value: "--keep" with unit "N".
  void value(const std::string& name, const std::string& unit, const Read& read, const std::string& about);
  /// An option with a value that may be repeated; calls `each` for each value.
  void values(const std::string& name, const std::string& unit, Read each, const std::string& about);

  /// Adds completions for the last declared option or argument: these words with `suffix` appended, or the store's
  /// channels. The parser does not enforce them.
  void among(std::span<const std::string_view> words, std::string_view suffix = "");
  void among_channels();

  /// Sets the help heading of the flags declared next; initially "Options".
  void heading(std::string group) { group_ = std::move(group); }
  /// Sets the extra lines of the help.
  void notes(CommandNotes notes) { node_.notes = std::move(notes); }

 private:
  void add_flag(const std::string& names, const std::string& unit, const std::string& about);

  CLI::App& app_;
  CommandNode& node_;
  CommandValues* last_ = nullptr;  ///< points into node_; replaced by the next declaration
  std::string group_ = "Options";
};

/// Reads the values of one verb.
class VerbReader {
 public:
  explicit VerbReader(const VerbRow& its_verb) : verb(its_verb) {}
  VerbReader(const VerbReader&) = delete;
  VerbReader& operator=(const VerbReader&) = delete;

  /// Declares the verb's arguments and flags; `line` puts their values here.
  void take(Arguments& line);
  /// Call after parsing: reads the arguments and checks the values together; may refuse() them.
  void finish();

  const VerbRow verb;
  OperationValues given;

 private:
  void take_flag(const OperationField& field, Arguments& line);
  void take_columns(Arguments& line);
  void take_assignments(const Operation& operation, Arguments& line);
  void assign(const Operation& operation, const std::string& assignment);

  std::vector<std::string_view> column_names_;
  OperationField columns_field_;                                    ///< its choices are column_names_
  std::map<std::string_view, std::vector<std::string>> arguments_;  // by field, as typed
  std::vector<std::string> assignments_;
};

}  // namespace feedmill
