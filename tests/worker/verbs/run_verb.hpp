// Runs verbs in the test's process.
#pragma once

#include <array>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <boost/json.hpp>
#include <unistd.h>

#include "worker/verbs/table.hpp"

namespace feedmill {

/// Result of one run of the program.
struct VerbRun {
  int exit = -1;
  std::string out, err;
  /// The first line of `out`.
  boost::json::object row() const { return boost::json::parse(out.substr(0, out.find('\n'))).as_object(); }
};

/// Reads a file from its start, and closes it.
inline std::string content_of(int descriptor) {
  std::string content;
  std::array<char, 65536> block{};
  ::lseek(descriptor, 0, SEEK_SET);
  for (ssize_t got = 0; (got = ::read(descriptor, block.data(), block.size())) > 0;) {
    content.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return content;
}

/// Runs the program, from words to exit code, and captures its output.
inline VerbRun run_verb(const std::vector<std::string>& words) {
  const int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
  VerbRun outcome;
  {
    const auto line = read_command_line(words, verb_groups());
    TerminalOptions options = line.has_value() ? line->terminal : TerminalOptions{};
    options.out = out;
    options.err = err;
    Terminal terminal(options);
    outcome.exit = line.has_value() ? run_command(*line, terminal) : tell(line.error(), terminal);
    terminal.flush();
  }
  outcome.out = content_of(out);
  outcome.err = content_of(err);
  return outcome;
}

}  // namespace feedmill
