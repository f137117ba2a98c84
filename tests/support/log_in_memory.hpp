// A log kept in memory, for tests to read.
#pragma once

#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>

#include <unistd.h>

#include "worker/base/log.hpp"
#include "worker/base/system.hpp"

namespace feedmill::test {

class LogInMemory {
 public:
  Log& log() { return *log_; }
  /// The lines logged so far. Ends the log: nothing may be logged after this call.
  std::string text() {
    log_.reset();
    struct stat file {};
    fstat(out_.get(), &file);
    std::string text(static_cast<std::size_t>(file.st_size), '\0');
    if (pread(out_.get(), text.data(), text.size(), 0) != file.st_size) return "(cannot be read)";
    return text;
  }

 private:
  const UniqueFd out_{memfd_create("log", MFD_CLOEXEC)};
  std::optional<Log> log_{
      std::in_place,
      Log::Options{.level = LogLevel::info, .format = LogFormat::logfmt, .worker = "", .fd = out_.get()}};
};

}  // namespace feedmill::test
