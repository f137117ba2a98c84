#include "worker/verbs/commands.hpp"

#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "worker/base/interrupt.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/doctor.hpp"
#include "worker/process/run.hpp"
#include "worker/verbs/about.hpp"
#include "worker/verbs/archive_verbs.hpp"
#include "worker/verbs/change.hpp"
#include "worker/verbs/channel_verbs.hpp"
#include "worker/verbs/check.hpp"
#include "worker/verbs/discover_verb.hpp"
#include "worker/verbs/doctor_verb.hpp"
#include "worker/verbs/entry_change.hpp"
#include "worker/verbs/entry_verbs.hpp"
#include "worker/verbs/explain_verb.hpp"
#include "worker/verbs/feeds.hpp"
#include "worker/verbs/health.hpp"
#include "worker/verbs/lists.hpp"
#include "worker/verbs/move.hpp"
#include "worker/verbs/notice_verbs.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/parse.hpp"
#include "worker/verbs/plan_verb.hpp"
#include "worker/verbs/refresh_verb.hpp"
#include "worker/verbs/stats.hpp"
#include "worker/verbs/tail.hpp"
#include "worker/verbs/top.hpp"
#include "worker/verbs/trace.hpp"
#include "worker/verbs/verify_verb.hpp"

namespace feedmill {
namespace {

ConfigSources sources_of(const CommandLine& line) {
  ConfigSources sources;
  sources.file = line.config_file;
  sources.environment = process_environment();
  sources.flags = line.flags;
  return sources;
}

boost::system::result<Config, int> configuration(const ConfigSources& sources, Terminal& terminal) {
  auto config = load_config(sources);
  if (config.has_error()) {
    if (is_end_waiting()) return exits::done;  // `run` was told to stop while it waited for a pipe: nothing had begun
    for (const ConfigProblem& problem : config.error()) terminal.error(visible(to_string(problem)));
    return exits::configuration;
  }
  set_secret_parameters(config->log.redact_params);
  for (const std::string& warning : config->warnings) terminal.note("feedmill: warning: " + visible(warning));
  return std::move(*config);
}

/// The verbs that need a configuration. Each says what of the rest it needs.
class VerbRunner {
 public:
  VerbRunner(const Config& config, const ConfigSources& sources, Terminal& terminal)
      : config_(config), sources_(sources), terminal_(terminal) {}

  int operator()(const RunVerb& verb) const {
    if (const Finding kept = check_poison_directory(config_); kept.verdict == Verdict::fail) {
      return fail(terminal_, "run",
                  VerbFailure{exits::configuration, visible("debug.keep_poison: " + kept.text + "; " + kept.remedy)});
    }
    return run(config_, sources_, verb.once);
  }

  int operator()(const ConfigShowVerb& verb) const { return run_verb(verb, config_, terminal_); }

  int operator()(const CheckVerb& verb) const { return run_verb(verb, config_, terminal_); }
  int operator()(const DiscoverVerb& verb) const { return run_verb(verb, config_, terminal_); }
  int operator()(const PlanVerb& verb) const { return run_verb(verb, config_, terminal_); }
  int operator()(const DoctorVerb& verb) const { return run_verb(verb, config_, terminal_); }
  int operator()(const HealthVerb& verb) const { return run_verb(verb, config_, terminal_); }
  int operator()(const TopVerb& verb) const {
    note_interrupts();
    return run_verb(verb, config_, terminal_);
  }

  int operator()(const ExplainVerb& verb) const {
    note_interrupts();
    return with_store(
        "explain", [&](const VerbContext& context) { return run_verb(verb, context); }, StoreUse::read);
  }

  int operator()(const VerifyVerb& verb) const {
    note_interrupts();
    return with_store(
        "verify", [&](const VerbContext& context) { return run_verb(verb, context); }, StoreUse::inspect);
  }

  int operator()(const StoreExportVerb& verb) const {
    note_interrupts();
    return with_store(
        "store export", [&](const VerbContext& context) { return run_verb(verb, context); }, StoreUse::inspect);
  }
  int operator()(const StoreImportVerb& verb) const {
    note_interrupts();
    return with_store("store import", [&](const VerbContext& context) { return run_verb(verb, context); });
  }

  int operator()(const ImportVerb& verb) const {
    note_interrupts();
    const auto list = read_list(verb);
    if (list.has_error()) return fail(terminal_, "import", list.error());
    return with_store("import", [&](const VerbContext& context) { return run_verb(verb, *list, context); });
  }

  int operator()(const TailVerb& verb) const {
    note_interrupts();
    auto session = StoreSession::open(config_, StoreUse::read);
    if (session.has_error()) return fail(terminal_, "tail", session.error());
    return run_verb(verb, config_, std::move(*session), terminal_);
  }

  template <class StoreVerb>
  int operator()(const StoreVerb& verb) const {
    note_interrupts();
    return with_store(
        name_of(verb), [&](const VerbContext& context) { return run_verb(verb, context); }, use_of(verb));
  }

 private:
  template <class StoreVerb>
  static StoreUse use_of(const StoreVerb&) {
    return StoreUse::change;
  }
  static StoreUse use_of(const AddVerb& verb) { return verb.dry_run ? StoreUse::read : StoreUse::change; }
  static StoreUse use_of(const ListVerb&) { return StoreUse::read; }
  static StoreUse use_of(const ShowVerb&) { return StoreUse::read; }
  static StoreUse use_of(const ExportVerb&) { return StoreUse::read; }
  static StoreUse use_of(const EntriesVerb&) { return StoreUse::read; }
  static StoreUse use_of(const EntryVerb&) { return StoreUse::read; }
  static StoreUse use_of(const StatsVerb&) { return StoreUse::read; }
  static StoreUse use_of(const NoticesVerb& verb) { return verb.clear ? StoreUse::change : StoreUse::read; }
  static StoreUse use_of(const NotifyVerb& verb) {
    using Does = NotifyVerb::Does;
    const bool asks = verb.feeds.empty() && verb.channels.empty() && verb.words.empty() && verb.remove_rules.empty();
    return verb.does == Does::list || (verb.does == Does::rules && asks) ? StoreUse::read : StoreUse::change;
  }
  static StoreUse use_of(const ChannelVerb& verb) {
    using Does = ChannelVerb::Does;
    const bool asks = verb.does == Does::list || verb.does == Does::timeline || verb.does == Does::unread_count ||
                      (verb.does == Does::feeds && verb.add_feeds.empty() && verb.remove_feeds.empty());
    return asks ? StoreUse::read : StoreUse::change;
  }

  static std::string_view name_of(const AddVerb&) { return "add"; }
  static std::string_view name_of(const RemoveVerb&) { return "remove"; }
  static std::string_view name_of(const SetVerb&) { return "set"; }
  static std::string_view name_of(const PauseVerb&) { return "pause"; }
  static std::string_view name_of(const ResumeVerb&) { return "resume"; }
  static std::string_view name_of(const MoveVerb&) { return "move"; }
  static std::string_view name_of(const ListVerb&) { return "list"; }
  static std::string_view name_of(const ShowVerb&) { return "show"; }
  static std::string_view name_of(const ExportVerb&) { return "export"; }
  static std::string_view name_of(const RefreshVerb&) { return "refresh"; }
  static std::string_view name_of(const TraceVerb&) { return "trace"; }
  static std::string_view name_of(const EntriesVerb&) { return "entries"; }
  static std::string_view name_of(const EntryVerb&) { return "entry"; }
  static std::string_view name_of(const EntryPutVerb&) { return "entry put"; }
  static std::string_view name_of(const EntryRemoveVerb&) { return "entry remove"; }
  static std::string_view name_of(const ExpireVerb&) { return "expire"; }
  static std::string_view name_of(const ChannelVerb&) { return "channel"; }
  static std::string_view name_of(const NotifyVerb&) { return "notify"; }
  static std::string_view name_of(const NoticesVerb&) { return "notices"; }
  static std::string_view name_of(const StatsVerb&) { return "stats"; }

  template <class Work>
  int with_store(std::string_view verb, Work work, StoreUse use = StoreUse::change) const {
    auto session = StoreSession::open(config_, use);
    if (session.has_error()) return fail(terminal_, verb, session.error());
    const int code = work(VerbContext{config_, session->store(), terminal_});
    terminal_.flush();  // before a private server is stopped, which takes its time
    return code;
  }

  const Config& config_;
  const ConfigSources& sources_;
  Terminal& terminal_;
};

/// The verbs that need none, or that say what is wrong with it.
class EarlyCarrier {
 public:
  EarlyCarrier(const ConfigSources& sources, Terminal& terminal) : sources_(sources), terminal_(terminal) {}

  int operator()(const ParseVerb& verb) const { return run_verb(verb, terminal_); }
  int operator()(const VersionVerb& verb) const { return run_verb(verb, terminal_); }
  int operator()(const CompletionVerb& verb) const { return run_verb(verb, terminal_); }
  int operator()(const ManVerb& verb) const { return run_verb(verb, terminal_); }
  int operator()(const ConfigCheckVerb& verb) const { return run_verb(verb, sources_, terminal_); }

 private:
  const ConfigSources& sources_;
  Terminal& terminal_;
};

}  // namespace

int tell(const NoCommand& nothing, Terminal& terminal) {
  if (nothing.exit == exits::done) {
    terminal.raw(nothing.text);
  } else if (nothing.help) {
    terminal.note(nothing.text);
  } else {
    terminal.error(nothing.text);
  }
  return nothing.exit;
}

int run_verb(const CommandLine& line, Terminal& terminal) {
  const ConfigSources sources = sources_of(line);
  return std::visit(
      [&](const auto& verb) {
        if constexpr (std::is_invocable_v<EarlyCarrier, decltype(verb)>) {
          return EarlyCarrier(sources, terminal)(verb);
        } else {
          const auto config = configuration(sources, terminal);
          return config.has_error() ? config.error() : VerbRunner(*config, sources, terminal)(verb);
        }
      },
      line.verb);
}

}  // namespace feedmill
