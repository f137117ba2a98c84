#include "worker/base/small_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "worker/base/posix_signals.hpp"
#include "worker/base/system.hpp"
#include "worker/base/units.hpp"

namespace feedmill {

namespace fs = std::filesystem;

namespace {

using FileContent = boost::system::result<std::string, std::string>;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t look_interval = 100;  // milliseconds between checks for pending signals

FileContent refused(const std::string& why) {
  return FileContent(boost::system::in_place_error, "the file cannot be read: " + why);
}

/// Error with the system's message for `error` (an errno).
FileContent unreachable(int error) {
  return refused(std::generic_category().message(error) + "; check its path and permissions");
}

/// Opens without waiting: opening a pipe without a writer would block.
UniqueFd open_file(const fs::path& file) {
  return UniqueFd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/// The bytes of an open file or pipe, see read_small_file().
FileContent content_of(const UniqueFd& in, std::size_t max_bytes, std::chrono::milliseconds patience) {
  std::string content;
  std::array<char, 65536> block;
  for (const auto until = Clock::now() + patience;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd readable{in.get(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, look_interval)));
    if (ready < 0 && errno != EINTR) return unreachable(errno);
    if (ready == 0 && is_end_waiting()) return refused("told to stop while waiting for data from this pipe");
    if (ready == 0 && left.count() > look_interval) continue;
    if (ready == 0) {
      return refused(content.empty() ? "no data arrived in this pipe within " + format_duration(patience)
                                     : "the writer of this pipe had not closed it after " + format_duration(patience));
    }
    const ssize_t got = ready < 0 ? -1 : ::read(in.get(), block.data(), block.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return unreachable(errno);
    if (got == 0) return FileContent(boost::system::in_place_value, std::move(content));
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > max_bytes) return refused("it is larger than " + format_size(max_bytes));
  }
}

}  // namespace

FileContent read_small_file(const fs::path& file, std::size_t max_bytes, std::chrono::milliseconds patience) {
  const UniqueFd in = open_file(file);
  struct stat status {};
  if (!in || ::fstat(in.get(), &status) != 0) return unreachable(errno);
  if (S_ISDIR(status.st_mode)) return refused("it is a directory");
  return content_of(in, max_bytes, patience);
}

FileContent read_regular_file(const fs::path& file, std::size_t max_bytes) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return unreachable(errno);
  if (!S_ISREG(status.st_mode)) return refused("it is not a regular file");
  const UniqueFd in = open_file(file);
  if (!in || ::fstat(in.get(), &status) != 0) return unreachable(errno);
  if (!S_ISREG(status.st_mode)) return refused("it is not a regular file");
  return content_of(in, max_bytes, std::chrono::milliseconds(0));
}

FileContent read_secret(const fs::path& file) {
  auto text = read_small_file(file, 1U << 20U);
  if (!text) return text;
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  const auto unfit = [](const char* why) { return FileContent(boost::system::in_place_error, why); };
  if (text->empty()) return unfit("the file is empty: write the value into it, or do not name it");
  // With these, a server refuses the value without telling why.
  if (text->starts_with("\xEF\xBB\xBF") || text->starts_with("\xFF\xFE") || text->starts_with("\xFE\xFF"))
    return unfit("the file begins with a byte order mark: save it as UTF-8 without one");
  if (text->find_first_of("\r\n") != std::string::npos)
    return unfit("the file must hold one line: remove the others, also empty ones");
  return text;
}

bool is_read_once(const fs::path& file) {
  std::error_code ignored;
  return fs::is_fifo(file, ignored);
}

bool readable_by_all(const fs::path& file) {
  std::error_code error;
  const auto permissions = fs::status(file, error).permissions();
  return !error && (permissions & fs::perms::others_read) != fs::perms::none;
}

std::string readable_warning(const fs::path& file) {
  return file.string() + " holds a secret but is readable by every user; chmod 600 it";
}

}  // namespace feedmill
