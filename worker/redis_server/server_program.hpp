// Programs that can be the private server: finds and runs one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/base/unique_fd.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {

struct ServerProgram {
  std::filesystem::path path;
  std::string called;         ///< argv[0], which determines the program's function
  std::string name, version;  ///< "redis", "7.0.15"
};

/// The server that wrote the files of a data directory, and its location.
struct ServerWriter {
  std::string_view name, version;  ///< "" if the directory has no server files
  std::string data_dir;
};

/// The first program on `search_path` ("" = $PATH) that can run on the files of `writer` (RELIABILITY R1, R10); else
/// no_program, or version if all candidates are unsuitable.
boost::system::result<ServerProgram, EmbeddedError> choose_program(std::string search_path, const ServerWriter& writer);

/// Starts `path` as `arguments[0]` in a new session, so that Ctrl-C does not reach it (RELIABILITY R6). Its output goes
/// to `output`; `inherited`, if valid, becomes its descriptor 3; it inherits no others. Returns the process id, or 0
/// with errno.
int spawn(const std::filesystem::path& path, std::vector<std::string> arguments, int output, int inherited);

/// A pidfd; empty, with errno, if there is no such process.
UniqueFd open_process(int pid);

}  // namespace feedmill
