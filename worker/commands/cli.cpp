#include "worker/commands/cli.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "worker/commands/cli_values.hpp"
#include "worker/commands/cli_verb.hpp"
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
    feeds();
    changes();
    lists();
    add_entry_verbs(root_, chosen_);
    signals();
    add_delivery_verbs(root_, chosen_);
    add_store_verbs(root_, chosen_);
    documents();
    questions();
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
      return NoCommand{exits::done, root_.help(), true};
    } catch (const CLI::ExtrasError&) {
      return NoCommand{exits::usage, unknown(root_.remaining(true)), false};
    } catch (const CLI::ParseError& error) {
      return NoCommand{exits::usage, verb_name() + error.what() + hint(), false};
    }
    if (version_) chosen_ = VersionVerb{};
    if (!chosen_) {
      const bool group = !root_.get_subcommands().empty();
      return NoCommand{exits::usage, group ? root_.get_subcommands().front()->help() : root_.help(), true};
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
  /// A verb: its arguments live in a `Kind`, which becomes the chosen one when `check` finds nothing wrong.
  template <class Kind, class Check>
  std::pair<CLI::App*, std::shared_ptr<Kind>> verb(CLI::App& parent, const char* name, const char* about,
                                                   const char* example, Check check) {
    return add_verb<Kind>(parent, chosen_, name, about, example, check);
  }

  template <class Kind>
  std::pair<CLI::App*, std::shared_ptr<Kind>> verb(const char* name, const char* about, const char* example) {
    return verb<Kind>(root_, name, about, example, [](const Kind&) {});
  }

  template <class Kind, class Check>
  std::pair<CLI::App*, std::shared_ptr<Kind>> verb(const char* name, const char* about, const char* example,
                                                   Check check) {
    return verb<Kind>(root_, name, about, example, check);
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

  void feeds() {
    const auto needs_urls = [](const auto& arguments) {
      if (arguments.urls.empty()) refuse("URL is missing");
    };
    auto [add, added] =
        verb<AddVerb>("add", "Add feeds", "feedmill add https://example.org/feed.xml --now", needs_urls);
    add->add_option("URL", added->urls,
                    "Absolute http or https addresses. One that does not say feed (/feed, .rss, .xml …) is looked at "
                    "first: of a web page its feed is added; what cannot be reached is added as it stands. import adds "
                    "without looking");
    add->add_flag("--now", added->now, "Fetch at once and show what came");
    add->add_flag("--first", added->first, "Of a web page with several feeds the first");
    const auto setting = [&to = added, add = add](const char* flag, const std::string& key, const char* about,
                                                  const char* unit) {
      add->add_option_function<std::string>(
             flag,
             [to, flag, key](const std::string& text) {
               const std::string remedy = change_setting(to->settings, key + "=" + text);
               if (!remedy.empty()) refuse(fmt::format("{}: {}", flag, remedy));
             },
             about)
          ->type_name(unit);
    };
    setting("--keep", "keep", "Entries to keep of these feeds (default: retention.entries)", "N");
    setting("--interval-min", "interval_min", "Never fetch more often: 15min 24h 7d", "DURATION");
    setting("--policy", "policy", "The [egress.policy] of the configuration that holds for them", "NAME");
    setting("--auth", "auth", "The [feed_auth] of the configuration that they send", "NAME");

    auto [remove, removed] = verb<RemoveVerb>("remove", "Remove feeds with everything stored of them",
                                              "feedmill remove https://example.org/feed.xml --yes", needs_urls);
    remove->add_option("URL", removed->urls, "Addresses of feeds");
    remove->add_flag("--yes", removed->yes, "Do not ask");
    remove->add_flag("--dry-run", removed->dry_run, "Only say what would be removed");

    auto [move, moved] = verb<MoveVerb>("move", "Request another URL for a feed; its keys and entries stay",
                                        "feedmill move https://example.org/old.xml https://example.org/new.xml",
                                        [](const MoveVerb& arguments) {
                                          if (arguments.url.empty()) refuse("URL is missing");
                                          if (arguments.undo && !arguments.to.empty())
                                            refuse("NEW and --undo exclude each other");
                                          if (!arguments.undo && arguments.to.empty())
                                            refuse("NEW is missing (or --undo)");
                                        });
    move->add_option("URL", moved->url, "Address of a feed, as it was added");
    move->add_option("NEW", moved->to, "What to request from now on");
    move->add_flag("--undo", moved->undo, "Request again what was requested before its last move (90 days)");

    auto [refresh, refreshed] =
        verb<RefreshVerb>("refresh", "Fetch feeds now and show what came",
                          "feedmill refresh https://example.org/feed.xml", [](const RefreshVerb& arguments) {
                            if (arguments.urls.empty() && !arguments.all) refuse("URL is missing (or --all)");
                            if (!arguments.urls.empty() && arguments.all) refuse("URL and --all exclude each other");
                          });
    refresh->add_option("URL", refreshed->urls, "Addresses of feeds");
    refresh->add_flag("--all", refreshed->all, "Every feed");
    refresh->add_flag("--defer", refreshed->defer, "Only make them due; a running worker fetches them");
    refresh->add_flag("--ignore-floor", refreshed->ignore_floor, "Even if the last fetch was a moment ago");

    auto [trace, traced] =
        verb<TraceVerb>("trace", "Refresh one feed here and tell every step and decision",
                        "feedmill trace https://example.org/feed.xml", [](const TraceVerb& arguments) {
                          if (arguments.url.empty()) refuse("URL is missing");
                        });
    trace->add_option("URL", traced->url, "Address of a feed");
    trace->add_flag("--ignore-floor", traced->ignore_floor, "Even if the last fetch was a moment ago");

    auto [show, shown] = verb<ShowVerb>("show", "All that is known of one feed",
                                        "feedmill show https://example.org/feed.xml", [](const ShowVerb& arguments) {
                                          if (arguments.url.empty()) refuse("URL is missing");
                                        });
    show->add_option("URL", shown->url, "Address of a feed");
  }

  void changes() {
    const auto needs_urls = [](const auto& arguments) {
      if (arguments.urls.empty()) refuse("URL is missing");
    };
    auto [set, changed] = verb<SetVerb>("set", "Change what holds for one feed: key=value, key= takes it away",
                                        "feedmill set https://example.org/feed.xml keep=200 interval_min=6h",
                                        [](const SetVerb& arguments) { check_changes(arguments); });
    set->add_option("URL", changed->url, "Address of a feed");
    set->add_option("CHANGE", changed->changes, "What to change")->type_name("NAME=VALUE");
    set->footer(about_settings() + set->get_footer());
    set->add_flag("--dry-run", changed->dry_run, "Only say what would be set");

    auto [pause, paused] = verb<PauseVerb>("pause", "Fetch feeds no more until they are resumed",
                                           "feedmill pause https://example.org/feed.xml", needs_urls);
    pause->add_option("URL", paused->urls, "Addresses of feeds");
    pause->add_flag("--dry-run", paused->dry_run, "Only say what would be paused");

    auto [resume, resumed] = verb<ResumeVerb>("resume", "Fetch paused feeds again",
                                              "feedmill resume https://example.org/feed.xml", needs_urls);
    resume->add_option("URL", resumed->urls, "Addresses of feeds");
    resume->add_flag("--dry-run", resumed->dry_run, "Only say what would be resumed");
  }

  /// Values are not repeated: one may be a secret in the wrong place.
  static void check_changes(const SetVerb& arguments) {
    if (arguments.url.empty()) refuse("URL is missing");
    if (arguments.changes.empty()) refuse("what to change is missing: NAME=VALUE");
    FeedSettings scratch;
    for (const std::string& change : arguments.changes) {
      const std::string remedy = change_setting(scratch, change);
      if (!remedy.empty()) refuse(fmt::format("{}: {}", visible(change.substr(0, change.find('='))), remedy));
    }
    const std::string contradiction = check_settings(scratch);
    if (!contradiction.empty()) refuse(contradiction);
  }

  static std::string about_settings() {
    std::string text = "Keys:\n";
    const auto row = [&text](std::string_view key, std::string_view unit, std::string_view meaning) {
      text += fmt::format("  {:<34}{}\n", fmt::format("{}={}", key, unit), meaning);
    };
    for (const FeedSetting& setting : feed_setting_table()) row(setting.key, setting.unit, setting.meaning);
    row("header.NAME", "text", "sent to the feed's own origin");
    return text + "\n";
  }

  void lists() {
    auto [list, listed] = verb<ListVerb>("list", "All feeds, one a line", "feedmill list --state failing --json");
    list->add_option_function<std::string>(
            "--state",
            [to = listed](const std::string& text) {
              one_of("--state", text, states);
              to->state = text;
            },
            "Only feeds in this state")
        ->type_name("STATE");
    list->add_option("--host", listed->host, "Only feeds of this host")->type_name("HOST");
    list->add_flag("--due", listed->due, "Only feeds that are due");

    auto [import, imported] =
        verb<ImportVerb>("import", "Add the feeds of an OPML file or of a list of URLs, one a line",
                         "feedmill import subscriptions.opml --dry-run", [](const ImportVerb& arguments) {
                           if (arguments.file.empty()) refuse("FILE is missing (- for stdin)");
                         });
    import->add_option("FILE", imported->file, "OPML or a list of URLs; - for stdin");
    import->add_flag("--dry-run", imported->dry_run, "Only say what would be added or removed");
    import->add_flag("--prune", imported->prune, "Then remove the feeds that the list does not name, with their posts");
    import->add_flag("--yes", imported->yes, "Do not ask before --prune");
    import->add_option("--user", imported->user, "Folders become channels of this user: USER/FOLDER")
        ->type_name("USER");

    auto [write, written] =
        verb<ExportVerb>("export", "Write all feeds as OPML 2.0", "feedmill export > subscriptions.opml");
    write->add_option("--user", written->user, "Only what this user's channels hold, as folders")->type_name("USER");
  }

  void signals() {
    auto [tail, tailed] = verb<TailVerb>("tail", "Signals as they come", "feedmill tail --type post_created --json",
                                         [](const TailVerb&) {});
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

  void documents() {
    auto [parse, parsed] = verb<ParseVerb>(
        "parse", "Read a feed document and print it as JSON, or explain it; no Redis, no network",
        "feedmill parse --explain --url https://example.org/feed.xml feed.xml", [](const ParseVerb& arguments) {
          if (arguments.file.empty() && !arguments.pipe) refuse("FILE is missing (- for stdin)");
          if (!arguments.file.empty() && arguments.pipe) refuse("FILE and --pipe exclude each other");
        });
    parse->add_option("FILE", parsed->file, "The response body; - for stdin");
    parse->add_option("--url", parsed->url, "Where it came from: the base of relative links")->type_name("URL");
    parse->add_option("--content-type", parsed->content_type, "Its Content-Type header")->type_name("TYPE");
    parse
        ->add_option_function<std::vector<std::string>>(
            "--header",
            [to = parsed](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) to->headers.push_back(header(text));
            },
            "Another response header; may be repeated")
        ->allow_extra_args(false)
        ->type_name("\"NAME: VALUE\"");
    auto* const raw = parse->add_flag_callback(
        "--raw-html", [to = parsed] { to->html = HtmlPolicy::raw; }, "Leave markup as it is");
    parse
        ->add_option_function<std::string>(
            "--html-policy",
            [to = parsed](const std::string& text) {
              constexpr std::array<std::string_view, 2> policies = {"strict", "classic"};
              one_of("--html-policy", text, policies);
              to->html = text == "classic" ? HtmlPolicy::classic : HtmlPolicy::strict;
            },
            "strict or classic")
        ->type_name("POLICY")
        ->excludes(raw);
    parse->add_flag("--explain", parsed->explain,
                    "Say in words what was repaired and which rule decided, in place of the document");
    parse->add_flag("--pipe", parsed->pipe, "Answer JSON requests, a line each, from stdin");
  }

  /// Verbs that answer and change nothing.
  void questions() {
    const auto needs_url = [](const auto& arguments) {
      if (arguments.url.empty()) refuse("URL is missing");
    };
    auto [explain, explained] = verb<ExplainVerb>("explain", "Why a feed is due when it is, and all that counts for it",
                                                  "feedmill explain https://example.org/feed.xml", needs_url);
    explain->add_option("URL", explained->url, "Address of a feed");

    auto [check, checked] =
        verb<CheckVerb>("check", "Fetch an address once, store nothing, and say all there is to say; no Redis",
                        "feedmill check https://example.org/feed.xml", needs_url);
    check->add_option("URL", checked->url, "Absolute http or https address");

    auto [discover, discovered] = verb<DiscoverVerb>("discover", "The feeds that a web page offers; no Redis",
                                                     "feedmill discover https://example.org/", needs_url);
    discover->add_option("URL", discovered->url, "Address of a page");

    auto [plan, planned] =
        verb<PlanVerb>("plan", "Simulate the schedule: requests an hour, busiest hosts, hosts whose feeds cannot fit",
                       "feedmill plan --days 7 --feeds 100000");
    plan->add_option_function<std::string>(
            "--days",
            [to = planned](const std::string& text) {
              to->days = static_cast<unsigned>(number("--days", text, 1, 365));
            },
            "Days to simulate (1)")
        ->type_name("N");
    plan->add_option("--host", planned->host, "Only feeds of this host")->type_name("HOST");
    plan->add_option("--feeds", planned->feeds,
                     "So many made-up feeds, or those of an OPML file or list of URLs, in place of the stored ones")
        ->type_name("N|FILE");

    verb<DoctorVerb>("doctor", "Check Redis, network, limits and configuration, with a remedy for what is wrong",
                     "feedmill doctor");
  }

  void others() {
    auto [run, ran] =
        verb<RunVerb>("run", "The worker: fetches what is due until it is stopped", "feedmill run --once");
    run->add_flag("--once", ran->once, "Try every feed that is due once, then exit");

    CLI::App* const config = root_.add_subcommand("config", "The configuration in force");
    config->group("Verbs");
    config->fallthrough();
    config->require_subcommand(0, 1);
    auto [show, shown] = verb<ConfigShowVerb>(*config, "show", "Every option's value", "feedmill config show --changed",
                                              [](const ConfigShowVerb&) {});
    show->add_flag("--origin", shown->origin, "Where each value comes from");
    show->add_flag("--changed", shown->changed, "Only what differs from the default");
    verb<ConfigCheckVerb>(*config, "check", "Every problem of the configuration; exit 1 when there is one",
                          "feedmill config check --config /etc/feedmill/feedmill.toml", [](const ConfigCheckVerb&) {});

    constexpr static std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};
    auto [completion, completed] =
        verb<CompletionVerb>("completion", "A script that completes verbs and flags: bash, zsh or fish",
                             "feedmill completion bash > ~/.local/share/bash-completion/completions/feedmill",
                             [](const CompletionVerb& arguments) {
                               if (arguments.shell.empty()) refuse("SHELL is missing: bash, zsh or fish");
                               one_of("SHELL", arguments.shell, shells);
                             });
    completion->add_option("SHELL", completed->shell, "bash, zsh or fish");
    verb<ManVerb>("man", "The manual page", "feedmill man | man -l -");
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
