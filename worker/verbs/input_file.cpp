#include "worker/verbs/input_file.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/observe/store_health.hpp"

namespace feedmill {

InputFile::InputFile(const std::string& name, std::string_view consequence)
    : name_(name), consequence_(consequence), block_(std::size_t{64} * 1024) {
  if (name == "-") return;
  file_ = UniqueFd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) fail(std::generic_category().message(errno));
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && S_ISDIR(status.st_mode)) fail(std::generic_category().message(EISDIR));
}

void InputFile::fail(const std::string& reason) const {
  throw VerbFailure{exits::bad_input,
                    fmt::format("cannot read {}: {}{}", name_ == "-" ? "stdin" : visible(name_), reason, consequence_)};
}

std::string_view InputFile::next() {
  for (;;) {
    const ssize_t got = ::read(file_ ? file_.get() : STDIN_FILENO, block_.data(), block_.size());
    stop_if_interrupted();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::generic_category().message(errno));
    return {block_.data(), static_cast<std::size_t>(got)};
  }
}

std::string InputFile::rest(std::string beginning, std::size_t max_bytes, std::string_view remedy) {
  struct stat status {};
  if (file_ && ::fstat(file_.get(), &status) == 0 && status.st_size > 0 &&
      static_cast<std::size_t>(status.st_size) <= max_bytes) {
    beginning.reserve(static_cast<std::size_t>(status.st_size));
  }
  for (std::string_view more = next(); !more.empty(); more = next()) {
    beginning += more;
    if (beginning.size() > max_bytes) {
      fail(fmt::format("larger than {} MiB{}", max_bytes >> 20, remedy));
    }
  }
  return beginning;
}

std::string read_input(const std::string& name, std::size_t max_bytes, std::string_view consequence) {
  return InputFile(name, consequence).rest({}, max_bytes);
}

}  // namespace feedmill
