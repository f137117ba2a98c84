#include "worker/command_line/cli.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"
#include "worker/config/config.hpp"

namespace feedmill {
namespace {

constexpr std::array<std::string_view, 8> states = {"new",     "healthy", "degraded",    "failing",
                                                    "blocked", "gone",    "quarantined", "paused"};
constexpr std::array<std::string_view, 12> types = {"feed_created",   "feed_modified", "feed_moved",   "feed_failing",
                                                    "feed_recovered", "feed_gone",     "feed_rekeyed", "feed_gap",
                                                    "post_created",   "post_modified", "post_deleted", "post_trimmed"};

/// The tree of verbs. CLI11 fills `chosen` and the members of `line` while it parses.
class Tree {
 public:
  Tree() : root_("feedmill: asynchronous feed ingestion, from HTTP to Redis", "feedmill") {
    root_.require_subcommand(0, 1);
    root_.set_help_flag("-h,--help", "This help; of a verb after its name");
    root_.fallthrough();
    root_.get_formatter()->label("SUBCOMMAND", "VERB");
    everywhere();
    configuration();
    add_feed_verbs(root_, chosen_);
    add_entry_verbs(root_, chosen_);
    signals();
    add_delivery_verbs(root_, chosen_);
    add_store_verbs(root_, chosen_);
    add_question_verbs(root_, chosen_);
    add_watch_verbs(root_, chosen_);
    others();
    root_.footer("Examples:\n  feedmill add https://example.org/feed.xml\n  feedmill run\n  feedmill tail --json");
  }

  CommandNode describe() const { return feedmill::describe(root_); }

  boost::system::result<CommandLine, NoCommand> read(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      root_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return NoCommand{exits::done, help_of(root_), true};
    } catch (const CLI::ExtrasError&) {
      return NoCommand{exits::usage, unknown(root_.remaining(true)), false};
    } catch (const CLI::ParseError& error) {
      return NoCommand{exits::usage, verb_name() + error.what() + hint(), false};
    }
    if (version_) chosen_ = VersionVerb{};
    if (!chosen_) {
      const bool group = !root_.get_subcommands().empty();
      return NoCommand{exits::usage, help_of(group ? *root_.get_subcommands().front() : root_), true};
    }
    if (quiet_ && verbose_) return NoCommand{exits::usage, "-q and -v exclude each other", false};
    if (!line_.flags.contains("log.level") && quiet_) line_.flags["log.level"] = "error";
    if (!line_.flags.contains("log.level") && verbose_) line_.flags["log.level"] = "debug";
    line_.terminal.quiet = quiet_;
    line_.terminal.verbose = verbose_;
    line_.verb = std::move(*chosen_);
    return line_;
  }

 private:
  /// CLI11 leaves an empty line more for options that are not shown.
  static std::string help_of(const CLI::App& app) {
    std::string text = app.help();
    if (const auto gap = text.find("\n\n\n"); gap != std::string::npos) text.erase(gap, 1);
    return text;
  }

  void everywhere() {
    root_.add_flag("--json", line_.terminal.json, "JSON on stdout, a line for each object");
    root_.add_flag("-q,--quiet", quiet_, "Only data and errors");
    root_.add_flag("-v,--verbose", verbose_, "Say more");
    root_
        .add_option_function<std::string>(
            "--color",
            [this](const std::string& text) {
              constexpr std::array<std::string_view, 3> modes = {"auto", "always", "never"};
              one_of("--color", text, modes);
              line_.terminal.color = text == "always"  ? ColorMode::always
                                     : text == "never" ? ColorMode::never
                                                       : ColorMode::automatic;
            },
            "auto, always or never")
        ->type_name("WHEN");
    root_.add_flag("--version", version_, "Versions of feedmill and its libraries");
    root_
        .add_option_function<std::string>(
            "--config", [this](const std::string& text) { line_.config_file = text; }, "Configuration file")
        ->type_name("FILE");
  }

  void configuration() {
    for (const Option& option : option_table()) {
      if (option.flag.empty()) continue;
      if (option.flag.starts_with("--no-")) {
        root_
            .add_flag_callback(
                std::string(option.flag), [this, key = std::string(option.key)] { line_.flags[key] = "false"; },
                fmt::format("Do not {} ({})", option.meaning, option.key))
            ->group("Configuration");
        continue;
      }
      root_
          .add_option_function<std::string>(
              std::string(option.flag),
              [this, key = std::string(option.key)](const std::string& text) { line_.flags[key] = text; },
              fmt::format("{} ({}; {})", option.meaning, option.key,
                          option.fallback.empty() ? "empty" : option.fallback))
          ->type_name(std::string(option.unit))
          ->group("Configuration");
    }
  }

  void signals() {
    auto [tail, tailed] =
        add_verb<TailVerb>(root_, chosen_, "Signals as they come", "feedmill tail --type post_created --json");
    tailed->from = "$";
    tail->add_option_function<std::string>(
            "--from",
            [to = tailed](const std::string& text) {
              check_stream_id(text);
              to->from = text;
            },
            "After this stream id; 0: all there are")
        ->type_name("ID");
    tail->add_option_function<std::vector<std::string>>(
            "--type",
            [to = tailed](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) one_of("--type", text, types);
              to->types = texts;
            },
            "Only this type; may be repeated")
        ->allow_extra_args(false)
        ->type_name("TYPE");
  }

  void others() {
    auto [run, ran] =
        add_verb<RunVerb>(root_, chosen_, "The worker: fetches what is due until it is stopped", "feedmill run --once");
    run->add_flag("--once", ran->once, "Try every feed that is due once, then exit");

    CLI::App* const config = root_.add_subcommand("config", "The configuration in force");
    config->group("Verbs");
    config->fallthrough();
    config->require_subcommand(0, 1);
    auto [show, shown] =
        add_verb<ConfigShowVerb>(*config, chosen_, "Every option's value", "feedmill config show --changed");
    show->add_flag("--origin", shown->origin, "Where each value comes from");
    show->add_flag("--changed", shown->changed, "Only what differs from the default");
    add_verb<ConfigCheckVerb>(*config, chosen_, "Every problem of the configuration; exit 1 when there is one",
                              "feedmill config check --config /etc/feedmill/feedmill.toml");

    constexpr static std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};
    auto [completion, completed] =
        add_verb<CompletionVerb>(root_, chosen_, "A script that completes verbs and flags: bash, zsh or fish",
                                 "feedmill completion bash > ~/.local/share/bash-completion/completions/feedmill",
                                 [](const CompletionVerb& arguments) {
                                   if (arguments.shell.empty()) refuse("SHELL is missing: bash, zsh or fish");
                                   one_of("SHELL", arguments.shell, shells);
                                 });
    completion->add_option("SHELL", completed->shell, "bash, zsh or fish");
    add_verb<ManVerb>(root_, chosen_, "The manual page", "feedmill man | man -l -");
  }

  /// The verb that was named, its parents included; nullptr when none.
  const CLI::App* named() const {
    const CLI::App* app = nullptr;
    for (auto found = root_.get_subcommands(); !found.empty(); found = found.front()->get_subcommands()) {
      app = found.front();
    }
    return app;
  }

  std::string verb_name() const {
    const CLI::App* const app = named();
    return app == nullptr ? std::string() : app->get_name() + ": ";
  }

  std::string hint() const {
    const CLI::App* const app = named();
    return app == nullptr ? " (see feedmill -h)" : fmt::format(" (see feedmill {} -h)", path_of(*app));
  }

  static std::string path_of(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    const bool nested = parent != nullptr && parent->get_parent() != nullptr;
    return nested ? path_of(*parent) + " " + app.get_name() : app.get_name();
  }

  std::string unknown(std::vector<std::string> extras) const {
    std::erase(extras, "--");
    const std::string extra = extras.empty() ? "--" : extras.front();
    const CLI::App* const app = named();
    std::vector<std::string> names;
    if (extra.size() > 1 && extra.front() == '-') {
      for (const CLI::App* const owner : {app, &root_}) {
        if (owner == nullptr) continue;
        for (const CLI::Option* const option : owner->get_options()) {
          for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
      }
      const std::string flag = extra.substr(0, extra.find('='));
      return fmt::format("{}unknown flag {}{}{}", verb_name(), visible(flag), suggestion(flag, names), hint());
    }
    const CLI::App& parent = app == nullptr ? root_ : *app;
    for (const CLI::App* const sub : parent.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
    }
    if (names.empty()) return fmt::format("{}\"{}\" is one argument too many{}", verb_name(), visible(extra), hint());
    return fmt::format("{}unknown verb \"{}\"{}{}", verb_name(), visible(extra), suggestion(extra, names), hint());
  }

  static std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    return did_you_mean(name, views);
  }

  CLI::App root_;
  CommandLine line_;
  std::optional<Verb> chosen_;
  bool quiet_ = false, verbose_ = false, version_ = false;
};

}  // namespace

boost::system::result<CommandLine, NoCommand> read_command_line(const std::vector<std::string>& arguments) {
  return Tree().read(arguments);
}

CommandNode command_tree() {
  return Tree().describe();
}

std::span<const std::string_view> feed_states() {
  return states;
}
std::span<const std::string_view> signal_types() {
  return types;
}

}  // namespace feedmill
