// The programs that can be the private server: finding one that may run, and running it.
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
  std::string called;         ///< argv[0], which decides what the program does
  std::string name, version;  ///< "redis", "7.0.15"
};

/// Whose files lie in a data directory, and where.
struct ServerWriter {
  std::string_view name, version;  ///< "" when nobody has written there
  std::string data_dir;
};

/// The first program on `search_path` ("" = $PATH) that may run on what `writer` wrote (RELIABILITY R1, R10); else
/// no_program, or version when there are only such as may not.
boost::system::result<ServerProgram, EmbeddedError> choose_program(std::string search_path, const ServerWriter& writer);

/// Starts `path` under the name `arguments[0]` in a session of its own, so that Ctrl-C does not reach it (RELIABILITY
/// R6). Its output goes to `output`; `inherited`, when there is one, becomes its descriptor 3; it gets no other of
/// ours. Returns the process id, or 0 with errno.
int spawn(const std::filesystem::path& path, std::vector<std::string> arguments, int output, int inherited);

/// A pidfd; none, with errno, when there is no such process.
UniqueFd open_process(int pid);

}  // namespace feedmill
