#include "worker/redis_server/server_program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds longest_answer{5};  // of `redis-server --version`

/// The output of `path`; "" if it cannot be run, or if it takes too long, in which case it is killed.
std::string output_of(const fs::path& path, std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const int pid = spawn(path, std::move(arguments), out.get(), -1);
  out.reset();
  std::string text;
  std::array<char, 1024> chunk;
  const auto end = std::chrono::steady_clock::now() + longest_answer;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd watched{in.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&watched, 1, static_cast<int>(left)) == 0) {
      text.clear();
      if (pid > 0) ::kill(-pid, SIGKILL);  // it leads its own session
      break;
    }
    const ssize_t size = ::read(in.get(), chunk.data(), chunk.size());
    if (size <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return text;
}

/// The first program named `file` in a search path.
std::optional<fs::path> find_executable(const std::string& search_path, std::string_view file) {
  std::istringstream directories(search_path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    fs::path program = fs::path(directory) / file;
    if (!directory.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

// --- which server reads which files (RELIABILITY R10) ----------------------------------------------------------------

using Version = std::array<int, 2>;  // major, minor

Version version_of(std::string_view text) {
  Version version{};
  const auto dot = text.find('.');
  version[0] = leading_number<int>(text);
  if (dot != std::string_view::npos) version[1] = leading_number<int>(text.substr(dot + 1));
  return version;
}

/// The RDB version of the base file of a server's AOF.
int file_format(std::string_view name, Version version) {
  if (name == "valkey") return version[0] >= 9 ? 80 : 11;
  return version < Version{7, 2} ? 10 : version < Version{7, 4} ? 11 : 12;
}

bool reads_files_of(std::string_view name, Version version, std::string_view writer, Version written) {
  if (writer.empty()) return true;
  if (name == writer) return version >= written;
  constexpr int last_common = 11;  // from 12 on, Redis and Valkey differ
  const int format = file_format(writer, written);
  return format <= last_common && format <= file_format(name, version);
}

/// Why a program must not run on the data directory; "" if it may (RELIABILITY R10).
std::string objection_to(const ServerProgram& program, const ServerWriter& writer) {
  const std::string what = program.path.string() + " (" + program.name + " " + program.version + ")";
  if (version_of(program.version) < Version{7, 0}) return what + " is too old; version 7.0 or later is needed";
  if (reads_files_of(program.name, version_of(program.version), writer.name, version_of(writer.version))) return {};
  return what + " cannot read the data in " + writer.data_dir + ", which " + std::string(writer.name) + " " +
         std::string(writer.version) +
         " wrote; install that server, or move the data with `store export` and `store import`";
}

}  // namespace

UniqueFd open_process(int pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

int spawn(const fs::path& path, std::vector<std::string> arguments, int output, int inherited) {
  // Move them away from the descriptor numbers assigned below.
  const UniqueFd out(::fcntl(output, F_DUPFD_CLOEXEC, 10));
  const UniqueFd held(inherited >= 0 ? ::fcntl(inherited, F_DUPFD_CLOEXEC, 10) : -1);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.get(), 1);
  posix_spawn_file_actions_adddup2(&files, out.get(), 2);
  if (held) posix_spawn_file_actions_adddup2(&files, held.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&files, held ? 4 : 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  std::vector<char*> environment;  // without our options: some are secrets (SECURITY K4)
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("FEEDMILL_")) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  pid_t pid = 0;
  // The umask is process-wide: files created concurrently by other threads are also for this user only.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const mode_t usual = ::umask(077);
  const int error = ::posix_spawn(&pid, path.c_str(), &files, &attributes, words.data(), environment.data());
  ::umask(usual);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  errno = error;
  return error == 0 ? pid : 0;
}

boost::system::result<ServerProgram, EmbeddedError> choose_program(std::string search_path,
                                                                   const ServerWriter& writer) {
  // RELIABILITY R1: the check tools are the same program, which acts by the name it was started under.
  constexpr std::pair<std::string_view, const char*> candidates[] = {{"valkey-server", "valkey-server"},
                                                                     {"redis-server", "redis-server"},
                                                                     {"redis-check-rdb", "redis-server"},
                                                                     {"valkey-check-rdb", "redis-server"}};
  const char* inherited_path = std::getenv("PATH");
  if (search_path.empty()) search_path = inherited_path != nullptr ? inherited_path : "/usr/local/bin:/usr/bin:/bin";
  std::string refused;
  for (const auto& [file, called] : candidates) {
    const auto path = find_executable(search_path, file);
    if (!path) continue;
    // "Redis server v=7.0.15 sha=…"
    std::istringstream words(output_of(*path, {called, "--version"}));
    ServerProgram program{*path, called, {}, {}};
    std::string server;
    words >> program.name >> server >> program.version;
    if (server != "server" || !program.version.starts_with("v=")) continue;
    program.version.erase(0, 2);
    program.name.front() |= 0x20;
    refused = objection_to(program, writer);
    if (refused.empty()) return program;
  }
  if (!refused.empty()) return EmbeddedError{EmbeddedError::Code::version, refused};
  return EmbeddedError{EmbeddedError::Code::no_program,
                       "no Redis server program found: install the package valkey-server or redis-server (redis-tools "
                       "suffices), or name a running server with --redis"};
}

std::optional<ServerTalk> ServerTalk::connect(const std::filesystem::path& path, std::chrono::seconds one_answer) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.empty() || name.size() > longest_socket_path) return std::nullopt;
  std::ranges::copy(name, address.sun_path);
  ServerTalk talk;
  talk.socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{one_answer.count(), 0};
  ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(talk.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  return talk;
}

int ServerTalk::peer() const {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  return ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : 0;
}

std::optional<ServerReply> ServerTalk::ask(std::initializer_list<std::string_view> words) {
  std::string request = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) request.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return std::nullopt;
  const auto line = read_line();
  if (!line || line->empty()) return std::nullopt;
  ServerReply reply{line->front(), line->substr(1)};
  if (reply.type != '$') return reply;
  const long size = leading_number(reply.text, -1L);
  if (size < 0) return ServerReply{'_', ""};
  while (buffer_.size() < static_cast<std::size_t>(size) + 2)
    if (!read_more()) return std::nullopt;
  reply.text = buffer_.substr(0, static_cast<std::size_t>(size));
  buffer_.erase(0, static_cast<std::size_t>(size) + 2);
  return reply;
}

bool ServerTalk::read_more() {
  std::array<char, 4096> chunk;
  const auto size = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  if (size <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  return true;
}

std::optional<std::string> ServerTalk::read_line() {
  for (;;) {
    if (const auto end = buffer_.find("\r\n"); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return line;
    }
    if (!read_more()) return std::nullopt;
  }
}

std::string info_field(const std::string& info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const auto found = info.find(start);
  if (found == std::string::npos) return {};
  const auto value = found + start.size();
  return info.substr(value, info.find_first_of("\r\n", value) - value);
}

}  // namespace feedmill
