// feedmill: arguments → command line → verb → exit code.
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "storage/test_point.hpp"
#include "worker/commands/cli.hpp"
#include "worker/commands/commands.hpp"
#include "worker/held_signals.hpp"
#include "worker/interrupt.hpp"
#include "worker/text/terminal.hpp"

int main(int argc, char** argv) {
  using namespace feedmill;
  try {
    hold_signals();
    test_point("B0");
    const auto line = read_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    if (!line || !std::holds_alternative<RunVerb>(line->verb)) let_signals_through();
    Terminal terminal(line.has_value() ? line->terminal : TerminalOptions{});
    const int code = line.has_value() ? carry_out(*line, terminal) : tell(line.error(), terminal);
    terminal.flush();
    return code;
  } catch (const OutputClosed&) {
    return exits::done;
  } catch (const Interrupted&) {
    return exits::interrupted;
  } catch (const std::exception& error) {
    Terminal(TerminalOptions{}).error(std::string("a bug, please report it: ") + visible(error.what()));
    return exits::bug;
  }
}
