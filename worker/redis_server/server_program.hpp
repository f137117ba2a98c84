// Programs that can be the private server: finds and runs one.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <sys/un.h>
#include <vector>

#include <boost/system/result.hpp>

#include "worker/base/system.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {

/// An installed program that can run as the private server.
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

// Simple commands to the private server over its unix socket while nothing else is running; otherwise storage/ talks to
// Redis.

inline constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

/// A reply: `type` is RESP's first byte, '_' for nil.
struct ServerReply {
  char type{};
  std::string text;

  /// Whether this is an error with the code `code`, such as "LOADING".
  bool is_error(std::string_view code) const { return type == '-' && text.starts_with(code); }
};

/// A connection for a few commands. Blocks.
class ServerTalk {
 public:
  /// Connects; empty if no server listens at `path`. `one_answer`: timeout of each answer.
  static std::optional<ServerTalk> connect(const std::filesystem::path& path,
                                           std::chrono::seconds one_answer = std::chrono::seconds(5));

  /// The listener's process id, 0 if unknown.
  int peer() const;

  /// Sends a command and waits for its reply. Empty if the connection broke or the answer took too long.
  std::optional<ServerReply> ask(std::initializer_list<std::string_view> words);

 private:
  bool read_more();
  std::optional<std::string> read_line();

  UniqueFd socket_;
  std::string buffer_;
};

/// The value of `name` in an INFO answer, "" if absent.
std::string info_field(const std::string& info, std::string_view name);

}  // namespace feedmill
