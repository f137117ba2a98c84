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
      return fail(terminal_, verb.name,
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

  int operator()(const ImportVerb& verb) const {
    note_interrupts();
    const auto list = read_list(verb);
    if (list.has_error()) return fail(terminal_, verb.name, list.error());
    return with_store(verb, [&](const VerbContext& context) { return run_verb(verb, *list, context); });
  }

  int operator()(const TailVerb& verb) const {
    note_interrupts();
    auto session = StoreSession::open(config_, verb.use());
    if (session.has_error()) return fail(terminal_, verb.name, session.error());
    return run_verb(verb, config_, std::move(*session), terminal_);
  }

  template <class StoreVerb>
  int operator()(const StoreVerb& verb) const {
    note_interrupts();
    return with_store(verb, [&](const VerbContext& context) { return run_verb(verb, context); });
  }

 private:
  template <class StoreVerb, class Work>
  int with_store(const StoreVerb& verb, Work work) const {
    StoreUse use = StoreUse::change;
    if constexpr (requires { verb.use(); }) use = verb.use();
    auto session = StoreSession::open(config_, use);
    if (session.has_error()) return fail(terminal_, verb.name, session.error());
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
