// feedmill: arguments → command line → verb → exit code.
#include <exception>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "storage/redis/test_point.hpp"
#include "worker/base/blocking_calls.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/cli/cli.hpp"
#include "worker/verbs/table.hpp"

namespace {

/// Opens /dev/null for closed standard streams; otherwise our files would reuse descriptors 0 to 2 and receive
/// messages.
void open_standard_streams() {
  for (;;) {
    const int file = ::open("/dev/null", O_RDWR);
    if (file >= 0 && file <= 2) continue;
    if (file > 2) ::close(file);
    return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace feedmill;
  try {
    open_standard_streams();
    hold_signals();
    test_point("B0");
    const auto line =
        read_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), verb_groups());
    if (!line || line->verb.name != "run") unblock_posix_signals();
    Terminal terminal(line.has_value() ? line->terminal : TerminalOptions{});
    const int code = line.has_value() ? run_command(*line, terminal) : tell(line.error(), terminal);
    terminal.flush();
    return code;
  } catch (const OutputClosed&) {
    return exits::done;
  } catch (const Interrupted&) {
    return exits::interrupted;
  } catch (const OutputFailed& error) {
    Terminal(TerminalOptions{}).error(error.what());
    return exits::unfinished;
  } catch (const std::exception& error) {
    if (is_short_of_threads(error)) {
      Terminal(TerminalOptions{}).error(short_of_threads);
      return exits::unfinished;
    }
    Terminal(TerminalOptions{}).error(std::string("a bug, please report it: ") + visible(error.what()));
    return exits::bug;
  }
}
