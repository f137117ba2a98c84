// What a verb takes: each argument and flag said once, for the parser and for all texts about it.
#pragma once

#include <functional>
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

/// Declares the arguments and flags of a verb in the order of its help. Destinations of values outlive the reading of
/// the command line.
class Arguments {
 public:
  /// Takes the text that was given; may refuse() it.
  using Read = std::function<void(const std::string& text)>;

  /// Declarations go into both. Both outlive this, and `app` also the reading.
  Arguments(CLI::App& app, CommandNode& node);

  /// Values without a flag.
  void argument(const OperationField& field, std::vector<std::string>& to);

  /// "--json", or "-q,--quiet". False again with "=false".
  void flag(const std::string& names, bool& to, const std::string& about);
  void flag(const std::string& names, std::function<void()> given, const std::string& about);
  /// One that takes a value: "--keep", "N".
  void value(const std::string& name, const std::string& unit, const Read& read, const std::string& about);
  /// One that takes a value and may be repeated; `each` is called for every one.
  void values(const std::string& name, const std::string& unit, Read each, const std::string& about);

  /// What the value or argument named last may be, for completions; the parser refuses nothing by it.
  void among(std::span<const std::string_view> words, std::string_view suffix = "");
  void among_channels();

  /// The heading of all further flags; at first "Options".
  void heading(std::string group) { group_ = std::move(group); }
  /// Further lines of the help.
  void notes(CommandNotes notes) { node_.notes = std::move(notes); }

  /// What looks at all values together, may refuse() them, and puts in what follows from others.
  void check(std::function<void()> check) { checks_.push_back(std::move(check)); }
  /// To be called in this order when all values are there.
  const std::vector<std::function<void()>>& checks() const { return checks_; }

 private:
  void add_flag(const std::string& names, const std::string& unit, const std::string& about);

  CLI::App& app_;
  CommandNode& node_;
  CommandValues* last_ = nullptr;  ///< inside of node_, until the next is added
  std::string group_ = "Options";
  std::vector<std::function<void()>> checks_;
};

}  // namespace feedmill
