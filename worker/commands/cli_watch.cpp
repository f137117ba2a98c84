// The verbs that ask the worker which runs on this machine.
#include <chrono>

#include "worker/commands/cli_values.hpp"
#include "worker/commands/cli_verb.hpp"
#include "worker/text/units.hpp"

namespace feedmill {

void add_watch_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  auto [health, asked] = add_verb<HealthVerb>(
      root, chosen, "health", "Ask the running worker on this machine whether it lives", "feedmill health --ready");
  health->add_flag("--ready", asked->ready, "Whether it is ready to work, too");

  auto [top, watched] = add_verb<TopVerb>(
      root, chosen, "top", "Watch the running worker on this machine: rates, lateness, hosts, notices; q quits",
      "feedmill top --interval 5s", [](const TopVerb& arguments) {
        if (arguments.once && arguments.interval) refuse("--once and --interval exclude each other");
      });
  top->add_flag("--once", watched->once, "Show it once and end; so it is without a terminal, too");
  top->add_option_function<std::string>(
         "--interval",
         [to = watched](const std::string& text) {
           constexpr std::chrono::milliseconds least{500}, most{std::chrono::hours(1)};
           to->interval = read_duration(text);
           if (!to->interval || *to->interval < least || *to->interval > most)
             refuse("--interval: give a duration of 500ms to 1h, as 2s");
         },
         "Ask anew so often (2s); with --json a line each time")
      ->type_name("DURATION");
}

}  // namespace feedmill
