// The verbs of operation: this machine, the store, the configuration, the program itself. What each is called, takes
// and needs.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"

namespace feedmill {

struct DoctorVerb {
  static constexpr VerbRow row{"doctor",
                               "Check Redis, network, limits and configuration, with a remedy for what is wrong",
                               "feedmill doctor", "1 when a check fails"};
};
int run_verb(const DoctorVerb& verb, const Config& config, Terminal& terminal);

struct HealthVerb {
  static constexpr VerbRow row{"health", "Ask the running worker on this machine whether it lives",
                               "feedmill health --ready", "1 when it says no or does not answer"};
  bool ready = false;

  void take(Arguments& line) { line.flag("--ready", ready, "Whether it is ready to work, too"); }
};
int run_verb(const HealthVerb& verb, const Config& config, Terminal& terminal);

struct TopVerb {
  static constexpr VerbRow row{
      "top", "Watch the running worker on this machine: rates, lateness, hosts, notices; q quits",
      "feedmill top --interval 5s", "1 when no worker answers at first; later it is waited for"};
  bool once = false;
  std::optional<std::chrono::milliseconds> interval;  ///< as given

  void take(Arguments& line) {
    line.flag("--once", once, "Show it once and end; so it is without a terminal, too");
    const auto read_interval = [this](const std::string& text) {
      interval = duration("--interval", text, std::chrono::milliseconds(500), std::chrono::hours(1), "2s");
    };
    line.value("--interval", "DURATION", read_interval, "Ask anew so often (2s); with --json a line each time");
    line.check([this] {
      if (once && interval) refuse("--once and --interval exclude each other");
    });
  }
};
/// Live on a terminal until `q`, once elsewhere. Throws Interrupted on Ctrl-C.
int run_verb(const TopVerb& verb, const Config& config, Terminal& terminal);

struct StatsVerb {
  static constexpr VerbRow row{"stats", "Figures of all workers and the whole store", "feedmill stats --json"};
  static constexpr StoreUse use() { return StoreUse::read; }
};
/// A row for each of `stores`; for people they are counted together.
int run_verb(const StatsVerb& verb, std::span<const VerbContext> stores);

struct NoticesVerb {
  static constexpr VerbRow row{"notices", "What operators should know, newest first", "feedmill notices --json"};
  bool clear = false;

  void take(Arguments& line) { line.flag("--clear", clear, "Delete them all"); }
  StoreUse use() const { return clear ? StoreUse::change : StoreUse::read; }
};
int run_verb(const NoticesVerb& verb, std::span<const VerbContext> stores);

struct WhereVerb {
  static constexpr VerbRow row{"where", "Which partition, and which node of a cluster, have a feed or an entry",
                               "feedmill where https://example.org/feed.xml", "1 when there is no such entry"};
  std::string what;

  void take(Arguments& line) { line.required("URL|ID", what, "Address of a feed, or id of an entry"); }
};
int run_verb(const WhereVerb& verb, const Config& config, Terminal& terminal);

struct VerifyVerb {
  static constexpr VerbRow row{"verify", "Check the invariants of the store beside running workers",
                               "feedmill verify --repair --journal repair.jsonl",
                               "1 when an invariant is violated that was not repaired"};
  std::vector<std::string> feeds;  ///< only these; none = the whole store
  bool repair = false, resanitise = false;
  std::string journal;                                        ///< file; "" = named after the time
  bool of_all_partitions() const { return journal.empty(); }  ///< each has a journal of its own

  void take(Arguments& line) {
    line.values("--feed", "URL", feeds, "Only this feed; may be repeated");
    line.flag("--repair", repair,
              "Mend what can be mended without guessing; what is replaced is written to a journal first");
    line.flag("--resanitise", resanitise,
              "Also find posts whose markup today's policy would store otherwise; with --repair store it so, and tell "
              "no reader");
    line.value("--journal", "FILE", journal, "Where to (feedmill-repair-TIME.jsonl here); a new file");
    line.check([this] {
      if (!journal.empty() && !repair) refuse("--journal needs --repair");
    });
  }
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
int run_verb(const VerifyVerb& verb, const VerbContext& context);

struct StoreVerb {
  static constexpr VerbRow family{"store", "The store as a file, and back", ""};
};

struct StoreExportVerb : StoreVerb {
  static constexpr VerbRow row{"store export", "Write the store, or some feeds, as JSON lines beside running workers",
                               "feedmill store export store.jsonl"};
  std::string file = "-";          ///< "-" = stdout
  std::vector<std::string> feeds;  ///< only these; none = the whole store

  void take(Arguments& line) {
    line.optional("FILE", file, "Where to; it appears when all is written (-: stdout, the default)");
    line.values("--feed", "URL", feeds, "Only this feed; may be repeated");
  }
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
int run_verb(const StoreExportVerb& verb, std::span<const VerbContext> partitions);

struct StoreImportVerb : StoreVerb {
  static constexpr VerbRow row{"store import",
                               "Bring back what store export wrote; again is harmless, and goes on where it stopped",
                               "feedmill store import store.jsonl --dry-run"};
  std::string file;  ///< "-" = stdin
  bool dry_run = false, replace = false, yes = false;

  void take(Arguments& line) {
    line.required(
        "FILE", file,
        "A whole store into an empty one: entries keep their numbers, however many partitions it has. Else they "
        "get new ones, and read marks, notices, rules and the order of channels stay out",
        "FILE is missing (- for stdin)");
    line.flag("--dry-run", dry_run, "Only check the file and say what would be brought back");
    line.flag("--replace", replace,
              "Feeds that are there are emptied first, and stay in their channels; else they stay as they are");
    line.flag("--yes", yes, "Do not ask before replacing");
    line.check([this] {
      if (yes && !replace) refuse("--yes needs --replace");
    });
  }
  StoreUse use() const { return dry_run ? StoreUse::inspect : StoreUse::change; }
};
int run_verb(const StoreImportVerb& verb, const Config& config, Terminal& terminal);

struct ConfigVerb {
  static constexpr VerbRow family{"config", "The configuration in force", ""};
};

struct ConfigCheckVerb : ConfigVerb {
  static constexpr VerbRow row{"config check", "Every problem of the configuration",
                               "feedmill config check --config /etc/feedmill/feedmill.toml", "1 when there is one"};
};
int run_verb(const ConfigCheckVerb& verb, const ConfigSources& sources, Terminal& terminal);

struct ConfigShowVerb : ConfigVerb {
  static constexpr VerbRow row{"config show", "Every option's value", "feedmill config show --changed"};
  bool origin = false, changed = false;

  void take(Arguments& line) {
    line.flag("--origin", origin, "Where each value comes from");
    line.flag("--changed", changed, "Only what differs from the default");
  }
};
int run_verb(const ConfigShowVerb& verb, const Config& config, Terminal& terminal);

struct CompletionVerb {
  static constexpr std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};
  static constexpr VerbRow row{"completion", "A script that completes verbs and flags: bash, zsh or fish",
                               "feedmill completion bash > ~/.local/share/bash-completion/completions/feedmill"};
  std::string shell;

  void take(Arguments& line) {
    line.required("SHELL", shell, "bash, zsh or fish", "SHELL is missing: bash, zsh or fish");
    line.among(shells);
    line.check([this] { one_of("SHELL", shell, shells); });
  }
};
int run_verb(const CompletionVerb& verb, Terminal& terminal);

struct ManVerb {
  static constexpr VerbRow row{"man", "The manual page", "feedmill man | man -l -"};
  bool markdown = false;

  void take(Arguments& line) { line.flag("--markdown", markdown, "The verbs alone, as docs/CLI.md has them"); }
};
int run_verb(const ManVerb& verb, Terminal& terminal);

struct OperationVerbs {
  static constexpr std::string_view group = "Operation";
  using List = std::tuple<DoctorVerb, HealthVerb, TopVerb, StatsVerb, NoticesVerb, VerifyVerb, WhereVerb,
                          StoreExportVerb, StoreImportVerb, ConfigCheckVerb, ConfigShowVerb, CompletionVerb, ManVerb>;
};

/// `--version`: a flag, and no verb to others.
struct VersionVerb {};
int run_verb(const VersionVerb& verb, Terminal& terminal);

}  // namespace feedmill
