// Runs verbs: from a command line to an exit code.
#include <array>
#include <functional>
#include <span>
#include <utility>
#include <variant>

#include "worker/base/posix_signals.hpp"
#include "worker/base/redact.hpp"
#include "worker/config/config.hpp"
#include "worker/process/run.hpp"
#include "worker/verbs/doctor.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"

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
    if (is_end_waiting()) return exits::done;  // `run` was stopped while it read a pipe: nothing has begun
    for (const ConfigProblem& problem : config.error()) terminal.error(visible(to_string(problem)));
    return exits::configuration;
  }
  set_secret_parameters(config->log.redact_params);
  for (const std::string& warning : config->warnings) terminal.note("feedmill: warning: " + visible(warning));
  return std::move(*config);
}

/// Runs a verb with the arguments that its function needs.
class Runner {
 public:
  Runner(const CommandLine& line, Terminal& terminal)
      : verb_(line.verb), given_(line.given), sources_(sources_of(line)), terminal_(terminal) {}

  int operator()(RunAlone run) const {
    return carry_out(verb_, terminal_, [&] { return run(given_, terminal_); });
  }
  int operator()(RunUnconfigured run) const {
    return carry_out(verb_, terminal_, [&] { return run(given_, sources_, terminal_); });
  }
  int operator()(RunConfigured run) const {
    return configured([&](const Config& config) {
      return carry_out(verb_, terminal_, [&] { return run(given_, config, terminal_); });
    });
  }
  int operator()(RunWorker run) const {
    return configured([&](const Config& config) {
      return carry_out(verb_, terminal_, [&] { return run(given_, config, sources_); });
    });
  }
  int operator()(RunInStores run) const {
    return configured([&](const Config& config) {
      note_interrupts();
      return with_stores(verb_, given_, config, terminal_, [&](auto stores) { return run(given_, stores); });
    });
  }
  int operator()(RunInStore run) const { return in_store(run); }
  int operator()(const Operation* operation) const {
    return in_store([operation](const OperationValues& given, const VerbContext& context) {
      return run_operation(*operation, given, context);
    });
  }

 private:
  int configured(const std::function<int(const Config& config)>& work) const {
    const auto config = configuration(sources_, terminal_);
    return config.has_error() ? config.error() : work(*config);
  }

  int in_store(const std::function<int(const OperationValues& given, const VerbContext& context)>& run) const {
    const auto work = [&](const OperationValues& given, const Config& config) {
      return with_store(verb_, given, config, terminal_,
                        [&](const VerbContext& context) { return run(given, context); });
    };
    return configured([&](const Config& config) {
      note_interrupts();
      if (config.objection_to_partition().empty()) return work(given_, config);
      return carry_out(verb_, terminal_, [&] { return in_partitions(verb_, given_, config, terminal_, work); });
    });
  }

  const VerbRow& verb_;
  const OperationValues& given_;
  const ConfigSources sources_;
  Terminal& terminal_;
};

int run_worker(const OperationValues& given, const Config& config, const ConfigSources& sources) {
  if (const Finding kept = check_poison_directory(config); kept.verdict == Verdict::fail) {
    throw VerbFailure{exits::configuration, visible("debug.keep_poison: " + kept.text + "; " + kept.remedy)};
  }
  return run(config, sources, given.truth("once"));
}

}  // namespace

VerbRow run_verb() {
  static constexpr std::array taken{fields::flag("--once", "Try every due feed once, then exit")};
  return {.name = "run",
          .about = "Run the worker: fetch due feeds until stopped",
          .example = "feedmill run --once",
          .fields = taken,
          .run = run_worker};
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

int run_command(const CommandLine& line, Terminal& terminal) {
  return std::visit(Runner(line, terminal), line.verb.run);
}

}  // namespace feedmill
