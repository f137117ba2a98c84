#include "worker/verbs/commands.hpp"

#include <utility>
#include <variant>

#include "worker/base/interrupt.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/config.hpp"
#include "worker/diagnosis/doctor.hpp"
#include "worker/process/run.hpp"
#include "worker/verbs/in_partitions.hpp"
#include "worker/verbs/open_store.hpp"

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
    if (is_end_waiting()) return exits::done;  // `run` was stopped while it read a pipe: nothing had begun
    for (const ConfigProblem& problem : config.error()) terminal.error(visible(to_string(problem)));
    return exits::configuration;
  }
  set_secret_parameters(config->log.redact_params);
  for (const std::string& warning : config->warnings) terminal.note("feedmill: warning: " + visible(warning));
  return std::move(*config);
}

int carry_out(const VersionVerb& verb, const ConfigSources&, Terminal& terminal) {
  return run_verb(verb, terminal);
}

/// Passes the arguments that the verb's run_verb() takes.
template <class Kind>
int carry_out(const Kind& verb, const ConfigSources& sources, Terminal& terminal) {
  if constexpr (requires { run_verb(verb, terminal); }) {
    return carry_out(verb, terminal, [&] { return run_verb(verb, terminal); });
  } else if constexpr (requires { run_verb(verb, sources, terminal); }) {
    return carry_out(verb, terminal, [&] { return run_verb(verb, sources, terminal); });
  } else {
    const auto config = configuration(sources, terminal);
    if (config.has_error()) return config.error();
    if constexpr (requires { run_verb(verb, *config, terminal); }) {
      return carry_out(verb, terminal, [&] { return run_verb(verb, *config, terminal); });
    } else if constexpr (requires { run_verb(verb, *config, sources); }) {
      return carry_out(verb, terminal, [&] { return run_verb(verb, *config, sources); });
    } else {
      note_interrupts();
      if constexpr (requires(std::span<const VerbContext> stores) { run_verb(verb, stores); }) {
        return with_stores(verb, *config, terminal,
                           [&](std::span<const VerbContext> stores) { return run_verb(verb, stores); });
      } else {
        const auto work = [&](const Kind& meant, const Config& its) {
          return with_store(meant, its, terminal, [&](const VerbContext& context) { return run_verb(meant, context); });
        };
        const bool is_named = config->objection_to_partition().empty();
        if (is_named) return work(verb, *config);
        return carry_out(verb, terminal, [&] { return in_partitions(verb, *config, terminal, work); });
      }
    }
  }
}

}  // namespace

int run_verb(const RunVerb& verb, const Config& config, const ConfigSources& sources) {
  if (const Finding kept = check_poison_directory(config); kept.verdict == Verdict::fail) {
    throw VerbFailure{exits::configuration, visible("debug.keep_poison: " + kept.text + "; " + kept.remedy)};
  }
  return run(config, sources, verb.once);
}

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
  return std::visit([&](const auto& verb) { return carry_out(verb, sources, terminal); }, line.verb);
}

}  // namespace feedmill
