#include "worker/cli/cli.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "worker/cli/command_tree.hpp"
#include "worker/cli/verb_reader.hpp"
#include "worker/config/config.hpp"

namespace feedmill {
namespace {

/// The values of an option with a unit that lists them: "debug/info/warn/error". Empty for other options.
std::vector<std::string_view> choices(const Option& option) {
  std::vector<std::string_view> words;
  for (std::string_view unit = option.unit; !unit.empty();
       unit.remove_prefix(std::min(unit.find('/'), unit.size() - 1) + 1)) {
    words.push_back(unit.substr(0, unit.find('/')));
  }
  return std::ranges::find(words, option.fallback) != words.end() ? words : std::vector<std::string_view>();
}

constexpr std::array<std::string_view, 3> color_modes = {"auto", "always", "never"};

/// Whether only verbs that fetch, and verbs that show the configuration, use the option.
bool is_of_worker(const Option& option) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"worker.", "retention.", "admin."},
                             [&](std::string_view section) { return option.key.starts_with(section); });
}

/// The tree of verbs. CLI11 fills `chosen_` and the members of `line_` while it parses.
class Tree {
 public:
  explicit Tree(std::span<const VerbGroup> groups) {
    root_.require_subcommand(0, 1);
    root_.set_help_flag("-h,--help");
    root_.fallthrough();
    tree_.name = "feedmill";
    tree_.about = "feedmill: asynchronous feed ingestion, from HTTP to Redis";
    tree_.example = {"feedmill add https://example.org/feed.xml", "feedmill run", "feedmill tail --json"};
    Arguments everywhere(root_, tree_);
    take_general(everywhere);
    take_configuration(everywhere);
    for (const VerbGroup& group : groups) {
      for (const VerbRow& verb : group.verbs) add_verb(group.name, verb);
    }
    const auto help = std::ranges::find(tree_.verbs, "help", &CommandNode::name);
    if (help == tree_.verbs.end()) return;
    for (const CommandNode& verb : tree_.verbs) help->arguments.front().values.words.push_back(verb.name);
  }

  const CommandNode& tree() const { return tree_; }

  boost::system::result<CommandLine, NoCommand> read(std::vector<std::string> arguments) {
    std::string wrong = dashed_word(tree_, arguments);
    if (wrong.empty()) wrong = misnamed_verb(tree_, arguments);
    if (!wrong.empty()) return NoCommand{exits::usage, std::move(wrong), false};
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      root_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return NoCommand{exits::done, help(), true};
    } catch (const CLI::ExtrasError&) {
      return NoCommand{exits::usage, unknown(root_.remaining(true)), false};
    } catch (const CLI::ParseError& error) {
      return NoCommand{exits::usage, verb_name() + error.what() + hint(), false};
    }
    if (version_) choose("version");
    if (chosen_ == nullptr && verbose_) return NoCommand{exits::usage, "no verb; -V shows the version" + hint(), false};
    if (chosen_ == nullptr) return NoCommand{exits::usage, help(), true};
    if (std::string unused = unused_option(); !unused.empty()) return NoCommand{exits::usage, unused + hint(), false};
    if (quiet_ && verbose_) return NoCommand{exits::usage, "-q and -v exclude each other", false};
    if (!line_.flags.contains("log.level") && quiet_) line_.flags["log.level"] = "error";
    if (!line_.flags.contains("log.level") && verbose_) line_.flags["log.level"] = "debug";
    line_.terminal.quiet = quiet_;
    line_.terminal.verbose = verbose_;
    line_.verb = chosen_->verb;
    line_.given = chosen_->given;
    return line_;
  }

 private:
  void take_general(Arguments& line) {
    line.flag("--json", line_.terminal.json, "JSON on stdout, one object per line");
    line.flag("-q,--quiet", quiet_, "Print only data and errors");
    line.flag("-v,--verbose", verbose_, "Print more detail");
    const auto read_color = [this](const std::string& text) {
      if (std::ranges::find(color_modes, text) == color_modes.end())
        refuse(fmt::format("--color: \"{}\" is not one of {}", visible(text), fmt::join(color_modes, " ")));
      line_.terminal.color = text == "always"  ? ColorMode::always
                             : text == "never" ? ColorMode::never
                                               : ColorMode::automatic;
    };
    line.value("--color", "WHEN", read_color, "auto, always or never");
    line.among(color_modes);
    line.flag("-V,--version", version_, "Versions of feedmill and its libraries");
    const auto read_file = [this](const std::string& text) { line_.config_file = text; };
    line.value("--config", "FILE", read_file, "Configuration file");
  }

  void take_configuration(Arguments& line) {
    line.heading("Configuration");
    for (const Option& option : option_table()) {
      const std::string flag(option.flag), key(option.key);
      if (flag.starts_with("--no-")) {
        line.flag(
            flag, [this, key] { line_.flags[key] = "false"; }, fmt::format("Do not {} ({})", option.meaning, key));
      } else if (!flag.empty() && option.unit == "bool") {
        line.flag(
            flag, [this, key] { line_.flags[key] = "true"; }, fmt::format("{} ({})", option.meaning, key));
      } else if (!flag.empty()) {
        const auto read = [this, key](const std::string& text) { line_.flags[key] = text; };
        line.value(
            flag, std::string(option.unit), read,
            fmt::format("{} ({}; {})", option.meaning, key, option.fallback.empty() ? "empty" : option.fallback));
        line.among(choices(option));
      }
    }
  }

  void add_verb(std::string_view group, const VerbRow& verb) {
    CommandNode node;
    node.name = verb.name.substr(verb.name.rfind(' ') + 1);
    node.about = verb.about;
    node.group = group;
    node.exits = verb.exits;
    node.changes = verb.changes_something();
    if (!verb.is_heading()) node.example = {std::string(verb.example)};
    CLI::App& app = add_app(std::string(verb.name));
    Arguments arguments(app, node);
    if (!verb.is_heading()) {
      VerbReader& reader = readers_.emplace_back(verb);
      reader.take(arguments);
      app.callback([this, &app, &reader] {
        if (!app.get_subcommands().empty()) return;  // a verb below this one was named
        reader.finish();
        chosen_ = &reader;
      });
    }
    const bool is_below = verb.name.find(' ') != std::string_view::npos;
    (is_below ? tree_.verbs.back() : tree_).verbs.push_back(std::move(node));
  }

  /// Adds the parser of a verb; its parent exists.
  CLI::App& add_app(const std::string& path) {
    const std::size_t space = path.find(' ');
    CLI::App& parent = space == std::string::npos ? root_ : *root_.get_subcommand(path.substr(0, space));
    parent.require_subcommand(0, 1);
    CLI::App& app = *parent.add_subcommand(path.substr(space + 1));
    app.fallthrough();
    return app;
  }

  /// The words of the named verb: "entry put"; "" for the program.
  std::string path() const {
    std::string path;
    for (auto found = root_.get_subcommands(); !found.empty(); found = found.front()->get_subcommands()) {
      path += (path.empty() ? "" : " ") + found.front()->get_name();
    }
    return path;
  }

  /// The help of the named verb.
  std::string help() const {
    const CommandNode* node = &tree_;
    for (auto found = root_.get_subcommands(); !found.empty(); found = found.front()->get_subcommands()) {
      node = &*std::ranges::find(node->verbs, found.front()->get_name(), &CommandNode::name);
    }
    return help_text(*node, path());
  }

  std::string verb_name() const { return path().empty() ? std::string() : path() + ": "; }

  std::string hint() const { return fmt::format(" (see feedmill {}{}-h)", path(), path().empty() ? "" : " "); }

  std::string unknown(std::vector<std::string> extras) const {
    std::erase(extras, "--");
    const std::string extra = extras.empty() ? "--" : extras.front();
    if (extra.size() > 1 && extra.front() == '-') return unknown_flag(tree_, path(), extra);
    return fmt::format("{}unexpected argument \"{}\"{}", verb_name(), visible(extra), hint());
  }

  /// The error for a flag that the chosen verb would ignore; "" if there is none.
  std::string unused_option() const {
    for (const Option& option : option_table()) {
      if (is_of_worker(option) && line_.flags.contains(option.key) && chosen_->verb.uses_only_stores())
        return unused_flag(chosen_->verb.name, option);
    }
    return {};
  }

  void choose(std::string_view name) {
    const auto reader = std::ranges::find(readers_, name, [](const VerbReader& one) { return one.verb.name; });
    if (reader != readers_.end()) chosen_ = &*reader;
  }

  CLI::App root_{"", "feedmill"};
  CommandNode tree_;
  CommandLine line_;
  std::deque<VerbReader> readers_;  // referenced by CLI11's callbacks
  const VerbReader* chosen_ = nullptr;
  bool quiet_ = false, verbose_ = false, version_ = false;
};

}  // namespace

boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments,
                                                                std::span<const VerbGroup> groups) {
  return Tree(groups).read(arguments);
}

CommandNode command_tree(std::span<const VerbGroup> groups) {
  return Tree(groups).tree();
}

}  // namespace feedmill
