// The program with a private Redis server, and the locks and sockets it leaves afterwards.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/file.h>

#include <fcntl.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/base/system.hpp"

namespace feedmill::test {

class OwnServerWorld {
 public:
  OwnServerWorld() {
    environment = {{"FEEDMILL_STORE_DATA_DIR", data().string()},
                   {"FEEDMILL_ADMIN_LISTEN", "off"},
                   {"FEEDMILL_LOG_FORMAT", "logfmt"},
                   {"RUNTIME_DIRECTORY", (home / "run").string()},
                   {"HOME", home.string()},
                   {"PATH", std::getenv("PATH")}};
    if (const char* options = std::getenv("ASAN_OPTIONS")) environment["ASAN_OPTIONS"] = options;
    if (const char* options = std::getenv("TSAN_OPTIONS")) environment["TSAN_OPTIONS"] = options;
  }
  OwnServerWorld(const OwnServerWorld&) = delete;
  OwnServerWorld& operator=(const OwnServerWorld&) = delete;

  std::filesystem::path data() const { return home / "data"; }

  /// Remains of the private server (locks still held, its socket); "" if there are none.
  std::string left_behind() const {
    std::string left;
    for (const char* const name : {"server.lock", "users.lock", "start.lock"}) {
      const UniqueFd file(::open((data() / name).c_str(), O_RDWR | O_CLOEXEC));
      if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) left.append(name).append(" ");
    }
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(home / "run", ignored)) {
      left.append(entry.path().filename()).append(" ");
    }
    return left;
  }

  TemporaryDirectory home_directory;
  std::filesystem::path home = home_directory.path();
  Environment environment;
};

}  // namespace feedmill::test
