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
  static constexpr VerbRow row{"doctor", "Check Redis, network, limits and configuration, and suggest fixes",
                               "feedmill doctor", "1 when a check fails"};
};
int run_verb(const DoctorVerb& verb, const Config& config, Terminal& terminal);

struct HealthVerb {
  static constexpr VerbRow row{"health", "Check whether the running worker on this machine is alive",
                               "feedmill health --ready", "1 when it is not, or does not answer"};
  bool ready = false;

  void take(Arguments& line) { line.flag("--ready", ready, "Also check whether it is ready to work"); }
};
int run_verb(const HealthVerb& verb, const Config& config, Terminal& terminal);

struct TopVerb {
  static constexpr VerbRow row{
      "top", "Watch the running worker on this machine: rates, lateness, hosts, notices; q quits",
      "feedmill top --interval 5s", "1 when no worker answers at first; later it waits for one"};
  bool once = false;
  std::optional<std::chrono::milliseconds> interval;  ///< as given

  void take(Arguments& line) {
    line.flag("--once", once, "Print once and exit (default without a terminal)");
    const auto read_interval = [this](const std::string& text) {
      interval = duration("--interval", text, std::chrono::milliseconds(500), std::chrono::hours(1), "2s");
    };
    line.value("--interval", "DURATION", read_interval, "Refresh interval (2s); with --json, one line each");
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
  static constexpr VerbRow row{"notices", "Notices for operators, newest first", "feedmill notices --json"};
  bool clear = false;

  void take(Arguments& line) { line.flag("--clear", clear, "Delete them all"); }
  StoreUse use() const { return clear ? StoreUse::change : StoreUse::read; }
};
int run_verb(const NoticesVerb& verb, std::span<const VerbContext> stores);

struct WhereVerb {
  static constexpr VerbRow row{"where", "Show the partition, and the cluster node, of a feed or an entry",
                               "feedmill where https://example.org/feed.xml", "1 when there is no such entry"};
  std::string what;

  void take(Arguments& line) { line.required("URL|ID", what, "URL of a feed, or id of an entry"); }
};
int run_verb(const WhereVerb& verb, const Config& config, Terminal& terminal);

struct VerifyVerb {
  static constexpr VerbRow row{"verify", "Check the invariants of the store while workers run",
                               "feedmill verify --repair --journal repair.jsonl",
                               "1 when a violated invariant was not repaired"};
  std::vector<std::string> feeds;  ///< only these; none = the whole store
  bool repair = false, resanitise = false;
  std::string journal;                                        ///< file; "" = named after the time
  bool of_all_partitions() const { return journal.empty(); }  ///< each has a journal of its own

  void take(Arguments& line) {
    line.values("--feed", "URL", feeds, "Only this feed; may be repeated");
    line.flag("--repair", repair,
              "Repair what can be repaired without guessing; replaced values are written to a journal first");
    line.flag(
        "--resanitise", resanitise,
        "Also find posts with markup that today's policy would store differently; with --repair, store them that way "
        "without publishing events");
    line.value("--journal", "FILE", journal, "Journal file to create (default: feedmill-repair-TIME.jsonl here)");
    line.check([this] {
      if (!journal.empty() && !repair) refuse("--journal needs --repair");
    });
  }
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
int run_verb(const VerifyVerb& verb, const VerbContext& context);

struct StoreVerb {
  static constexpr VerbRow family{"store", "Export and import the store", ""};
};

struct StoreExportVerb : StoreVerb {
  static constexpr VerbRow row{"store export", "Write the store, or some feeds, as JSON lines while workers run",
                               "feedmill store export store.jsonl"};
  std::string file = "-";          ///< "-" = stdout
  std::vector<std::string> feeds;  ///< only these; none = the whole store

  void take(Arguments& line) {
    line.optional("FILE", file, "File to create; it appears once complete (-: stdout, the default)");
    line.values("--feed", "URL", feeds, "Only this feed; may be repeated");
  }
  static constexpr StoreUse use() { return StoreUse::inspect; }
};
int run_verb(const StoreExportVerb& verb, std::span<const VerbContext> partitions);

struct StoreImportVerb : StoreVerb {
  static constexpr VerbRow row{"store import", "Restore a store export; safe to repeat; continues where it stopped",
                               "feedmill store import store.jsonl --dry-run"};
  std::string file;  ///< "-" = stdin
  bool dry_run = false, replace = false, yes = false;

  void take(Arguments& line) {
    line.required(
        "FILE", file,
        "A whole store imported into an empty one keeps its entry numbers, whatever its number of partitions. "
        "Otherwise entries get new numbers, and read marks, notices, rules and the order of channels are not imported",
        "FILE is missing (- for stdin)");
    line.flag("--dry-run", dry_run, "Only check the file and show what would be restored");
    line.flag("--replace", replace,
              "Empty known feeds first; they stay in their channels (default: known feeds are left unchanged)");
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
  static constexpr VerbRow row{"config check", "Report every problem in the configuration",
                               "feedmill config check --config /etc/feedmill/feedmill.toml", "1 when there is one"};
};
int run_verb(const ConfigCheckVerb& verb, const ConfigSources& sources, Terminal& terminal);

struct ConfigShowVerb : ConfigVerb {
  static constexpr VerbRow row{"config show", "Show the value of every option", "feedmill config show --changed"};
  bool origin = false, changed = false;

  void take(Arguments& line) {
    line.flag("--origin", origin, "Also show where each value comes from");
    line.flag("--changed", changed, "Only values that differ from the default");
  }
};
int run_verb(const ConfigShowVerb& verb, const Config& config, Terminal& terminal);

struct CompletionVerb {
  static constexpr std::array<std::string_view, 3> shells = {"bash", "zsh", "fish"};
  static constexpr VerbRow row{"completion", "Print a completion script for verbs and flags: bash, zsh or fish",
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

  void take(Arguments& line) { line.flag("--markdown", markdown, "Only the verbs, as in docs/CLI.md"); }
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
