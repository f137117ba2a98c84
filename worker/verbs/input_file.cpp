#include "worker/verbs/input_file.hpp"

#include <array>
#include <cerrno>
#include <sys/stat.h>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "worker/base/exits.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/unique_fd.hpp"
#include "worker/observe/store_failure.hpp"

namespace feedmill {

std::string read_input(const std::string& name, std::size_t max_bytes, std::string_view consequence) {
  const std::string shown = name == "-" ? "stdin" : visible(name);
  const auto failure = [&](const std::string& reason) {
    return VerbFailure{exits::bad_input, fmt::format("cannot read {}: {}{}", shown, reason, consequence)};
  };
  const auto failed = [&](int error) { return failure(std::generic_category().message(error)); };
  const UniqueFd opened(name == "-" ? -1 : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (name != "-" && !opened) throw failed(errno);
  const int file = opened ? opened.get() : STDIN_FILENO;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) throw failed(EISDIR);
  std::string content;
  if (status.st_size > 0 && static_cast<std::size_t>(status.st_size) <= max_bytes) {
    content.reserve(static_cast<std::size_t>(status.st_size));
  }
  std::array<char, 64 * 1024> block;
  for (;;) {
    const ssize_t got = ::read(file, block.data(), block.size());
    stop_if_interrupted();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failed(errno);
    if (got == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > max_bytes) throw failure(fmt::format("larger than {} MiB", max_bytes / (1024 * 1024)));
  }
}

}  // namespace feedmill
