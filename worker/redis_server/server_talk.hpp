// Simple commands to the private server over its unix socket while nothing else is running; otherwise storage/ talks to
// Redis.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <sys/un.h>

#include "worker/base/unique_fd.hpp"

namespace feedmill {

inline constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

/// A reply: `type` is RESP's first byte, '_' for nil.
struct ServerReply {
  char type{};
  std::string text;

  /// Whether it is an error whose first word is `code`, such as "LOADING".
  bool is_error(std::string_view code) const { return type == '-' && text.starts_with(code); }
};

/// A connection for a few commands. Blocks.
class ServerTalk {
 public:
  /// Empty if there is no listener. `one_answer`: the longest wait for each answer.
  static std::optional<ServerTalk> connect(const std::filesystem::path& path,
                                           std::chrono::seconds one_answer = std::chrono::seconds(5));

  /// The listener's process id, 0 if unknown.
  int peer() const;

  /// Empty if the connection broke or the answer took too long.
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
