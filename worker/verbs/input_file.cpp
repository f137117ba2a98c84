#include "worker/verbs/input_file.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "worker/base/interrupt.hpp"
#include "worker/base/terminal.hpp"

namespace feedmill {
namespace {

/// A descriptor that is closed at the end, unless it is stdin.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDIN_FILENO) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

boost::system::result<std::string, InputError> read_input(const std::string& name, std::size_t max_bytes) {
  const std::string shown = name == "-" ? "stdin" : visible(name);
  const auto failed = [&](int error) {
    return InputError{error, fmt::format("cannot read {}: {}", shown, std::generic_category().message(error))};
  };
  const Descriptor file(name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return failed(errno);
  struct stat status {};
  if (::fstat(file.number(), &status) == 0 && S_ISDIR(status.st_mode)) return failed(EISDIR);
  std::string content;
  if (status.st_size > 0 && static_cast<std::size_t>(status.st_size) <= max_bytes) {
    content.reserve(static_cast<std::size_t>(status.st_size));
  }
  std::array<char, 64 * 1024> block;
  for (;;) {
    const ssize_t got = ::read(file.number(), block.data(), block.size());
    stop_if_interrupted();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > max_bytes) {
      return InputError{EFBIG, fmt::format("cannot read {}: larger than {} MiB", shown, max_bytes / (1024 * 1024))};
    }
  }
}

}  // namespace feedmill

namespace boost::system {
void throw_exception_from_error(const feedmill::InputError& error, const boost::source_location&) {
  throw std::runtime_error(error.text);
}
}  // namespace boost::system
