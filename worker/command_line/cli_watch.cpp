// The verbs that watch running workers.
#include <chrono>

#include "worker/base/units.hpp"
#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {

void add_watch_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  auto [health, asked] = add_verb<HealthVerb>(root, chosen, "Ask the running worker on this machine whether it lives",
                                              "feedmill health --ready");
  health->add_flag("--ready", asked->ready, "Whether it is ready to work, too");

  auto [top, watched] = add_verb<TopVerb>(
      root, chosen, "Watch the running worker on this machine: rates, lateness, hosts, notices; q quits",
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

  auto [trace, traced] = add_verb<TraceVerb>(
      root, chosen, "Tell every step and decision of a refresh: made here, or by whichever worker",
      "feedmill trace https://example.org/feed.xml --live --for 1h", [](const TraceVerb& arguments) {
        if (arguments.url.empty()) refuse("URL is missing");
        if (arguments.live && arguments.ignore_floor) refuse("--live and --ignore-floor exclude each other");
      });
  trace->add_option("URL", traced->url, "Address of a feed");
  trace->add_flag("--ignore-floor", traced->ignore_floor, "Even if the last fetch was a moment ago");
  trace->add_flag("--live", traced->live, "Do not fetch: show what workers do with this feed, refresh by refresh");
  trace
      ->add_option_function<std::string>(
          "--for",
          [to = traced](const std::string& text) {
            constexpr std::chrono::milliseconds least{1000}, most{std::chrono::hours(7 * 24)};
            const auto span = read_duration(text);
            if (!span || *span < least || *span > most) refuse("--for: give a duration of 1s to 7d, as 1h");
            to->span = *span;
            to->live = true;
          },
          "With --live: for so long (10min)")
      ->type_name("DURATION");
}

}  // namespace feedmill
