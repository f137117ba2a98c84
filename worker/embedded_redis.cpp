#include "worker/embedded_redis.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <xxhash.h>

#include "worker/run_on.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Code = EmbeddedError::Code;

constexpr std::string_view marker_key = "meta:embedded";
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;
constexpr milliseconds one_answer = 5s;
constexpr milliseconds one_farewell = 10s;

std::string errno_text() {
  return std::strerror(errno);
}

// --- talking to the server -------------------------------------------------------------------------------------------

/// A reply: `type` is RESP's first byte, '_' for nil.
struct Reply {
  char type{};
  std::string text;

  bool is_error(std::string_view prefix) const { return type == '-' && text.starts_with(prefix); }
};

/// One connection for a handful of commands while nothing else runs yet; storage/ speaks to Redis otherwise.
class Talk {
 public:
  /// Nothing when nobody listens there.
  static std::optional<Talk> connect(const fs::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string& name = path.native();
    if (name.empty() || name.size() > longest_socket_path) return std::nullopt;
    std::ranges::copy(name, address.sun_path);
    Talk talk;
    talk.socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{std::chrono::duration_cast<std::chrono::seconds>(one_answer).count(), 0};
    ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(talk.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return std::nullopt;
    return talk;
  }

  /// The process that listens at the other end.
  int peer() const {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    return ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : 0;
  }

  /// Nothing when the connection broke or the answer took too long.
  std::optional<Reply> ask(std::initializer_list<std::string_view> words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto word : words)
      request.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return std::nullopt;
    const auto line = read_line();
    if (!line || line->empty()) return std::nullopt;
    Reply reply{line->front(), line->substr(1)};
    if (reply.type != '$') return reply;
    long size = -1;
    std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), size);
    if (size < 0) return Reply{'_', ""};
    while (buffer_.size() < static_cast<std::size_t>(size) + 2)
      if (!read_more()) return std::nullopt;
    reply.text = buffer_.substr(0, static_cast<std::size_t>(size));
    buffer_.erase(0, static_cast<std::size_t>(size) + 2);
    return reply;
  }

 private:
  bool read_more() {
    std::array<char, 4096> chunk;
    const auto size = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (size <= 0) return false;
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    return true;
  }

  std::optional<std::string> read_line() {
    for (;;) {
      if (const auto end = buffer_.find("\r\n"); end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 2);
        return line;
      }
      if (!read_more()) return std::nullopt;
    }
  }

  UniqueFd socket_;
  std::string buffer_;
};

/// The value of `name` in what INFO answered, "" when absent.
std::string info_field(const std::string& info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const auto found = info.find(start);
  if (found == std::string::npos) return {};
  const auto value = found + start.size();
  return info.substr(value, info.find_first_of("\r\n", value) - value);
}

// --- files and processes ---------------------------------------------------------------------------------------------

/// Waits a little longer each time, so that what takes milliseconds is not waited for longer.
class Patience {
 public:
  explicit Patience(milliseconds limit) : end_(Clock::now() + limit) {}
  bool ended() const { return Clock::now() >= end_; }
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min<milliseconds>(pause_ * 2, 50ms);
  }

 private:
  Clock::time_point end_;
  milliseconds pause_ = 1ms;
};

UniqueFd open_lock_file(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

bool try_lock(const UniqueFd& file, int kind) {
  return ::flock(file.get(), kind | LOCK_NB) == 0;
}

bool lock_patiently(const UniqueFd& file, int kind, milliseconds limit) {
  for (Patience patience(limit); !try_lock(file, kind); patience.wait())
    if (patience.ended()) return false;
  return true;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in && in.peek() != EOF) text << in.rdbuf();
  return text.str();
}

/// Whole or not at all.
bool write_file(const fs::path& path, const std::string& text) {
  const fs::path fresh = path.string() + ".new";
  {
    UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
    ::fsync(file.get());
  }
  return ::rename(fresh.c_str(), path.c_str()) == 0;
}

UniqueFd open_process(int pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// Starts `path` under the name `arguments[0]` in a session of its own, so that Ctrl-C does not reach it (RELIABILITY
/// R6). Its output goes to `output`; `inherited`, when there is one, becomes its descriptor 3; it gets no other of
/// ours. Returns the process id, or 0 with errno.
int spawn(const fs::path& path, std::vector<std::string> arguments, int output, int inherited) {
  // Away from the numbers that are assigned below.
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
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, path.c_str(), &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  errno = error;
  return error == 0 ? pid : 0;
}

/// What `path` prints; "" when it cannot be run.
std::string output_of(const fs::path& path, std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const int pid = spawn(path, std::move(arguments), out.get(), -1);
  out.reset();
  std::string text;
  std::array<char, 1024> chunk;
  for (ssize_t size; (size = ::read(in.get(), chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(size));
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return text;
}

/// The first program of that name in a search path.
std::optional<fs::path> find_executable(const std::string& search_path, std::string_view file) {
  std::istringstream directories(search_path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    fs::path program = fs::path(directory) / file;
    if (!directory.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

/// The user a directory belongs to; nothing when it is none, or a link.
std::optional<uid_t> owner_of(const fs::path& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status.st_uid;
}

/// Ours, no link, and nobody else may put files there.
bool is_own_private_directory(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string hex_of(std::uint64_t number) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4)
    *digit = "0123456789abcdef"[number & 15];
  return text;
}

std::string random_token() {
  std::array<std::uint64_t, 2> words{};
  if (::getrandom(words.data(), sizeof words, 0) != sizeof words)
    throw std::runtime_error("getrandom: " + errno_text());
  return hex_of(words[0]) + hex_of(words[1]);
}

/// A word of the server's configuration file.
std::string config_word(std::string_view text) {
  std::string word = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      word += c;
    } else {
      word.append("\\x").append(hex_of(byte), 14, 2);
    }
  }
  return word + "\"";
}

// --- which server reads which files (RELIABILITY R10) ----------------------------------------------------------------

using Version = std::array<int, 2>;  // major, minor

Version version_of(std::string_view text) {
  Version version{};
  const auto dot = text.find('.');
  std::from_chars(text.data(), text.data() + std::min(dot, text.size()), version[0]);
  if (dot != std::string_view::npos) std::from_chars(text.data() + dot + 1, text.data() + text.size(), version[1]);
  return version;
}

/// The RDB version that a server writes as the base of its AOF.
int file_format(std::string_view name, Version version) {
  if (name == "valkey") return version[0] >= 9 ? 80 : 11;
  return version < Version{7, 2} ? 10 : version < Version{7, 4} ? 11 : 12;
}

bool reads_files_of(std::string_view name, Version version, std::string_view writer, Version written) {
  if (writer.empty()) return true;
  if (name == writer) return version >= written;
  constexpr int last_common = 11;  // from 12 on Redis and Valkey went apart
  const int format = file_format(writer, written);
  return format <= last_common && format <= file_format(name, version);
}

}  // namespace

// --- what is kept ----------------------------------------------------------------------------------------------------

struct EmbeddedRedis::Program {
  fs::path path;
  std::string called;  // argv[0], which decides what the program does
  std::string name, version;
};

/// server.json
struct EmbeddedRedis::Record {
  std::string name, version, run_id, marker;
  fs::path socket;

  static Record read(const fs::path& file) {
    boost::system::error_code error;
    const json::value value = json::parse(read_file(file), error);
    Record record;
    if (error || !value.is_object()) return record;
    const auto text = [&](const char* key) {
      const auto* field = value.as_object().if_contains(key);
      return field != nullptr && field->is_string() ? std::string(field->as_string()) : std::string();
    };
    record.name = text("name");
    record.version = text("version");
    record.run_id = text("run_id");
    record.marker = text("marker");
    record.socket = text("socket");
    return record;
  }

  bool write(const fs::path& file) const {
    const json::object object{
        {"name", name}, {"version", version}, {"run_id", run_id}, {"marker", marker}, {"socket", socket.string()}};
    return write_file(file, json::serialize(object) + "\n");
  }
};

int exit_code(Code code) {
  switch (code) {
    case Code::directory:
      return 73;
    case Code::version:
      return 78;
    case Code::interrupted:
      return 75;
    case Code::no_program:
    case Code::occupied:
    case Code::damaged:
    case Code::start_failed:
      break;
  }
  return 69;
}

void throw_exception_from_error(const EmbeddedError& error, const boost::source_location&) {
  throw std::runtime_error(error.detail);
}

fs::path default_runtime_dir() {
  if (const char* directory = std::getenv("RUNTIME_DIRECTORY"); directory != nullptr && *directory != '\0') {
    const std::string_view listed = directory;
    return listed.substr(0, listed.find(':'));
  }
  if (const char* directory = std::getenv("XDG_RUNTIME_DIR"); directory != nullptr && *directory == '/')
    if (is_own_private_directory(directory)) return fs::path(directory) / "feedmill";
  return "/tmp/feedmill-" + std::to_string(::geteuid());
}

// --- opening ---------------------------------------------------------------------------------------------------------

boost::system::result<std::unique_ptr<EmbeddedRedis>, EmbeddedError> EmbeddedRedis::open(Options options) {
  std::unique_ptr<EmbeddedRedis> server(new EmbeddedRedis(std::move(options)));
  if (auto done = server->prepare_directories(); !done) return std::move(done).error();
  if (auto done = server->attach(); !done) return std::move(done).error();
  if (server->options_.wait_until_loaded)
    if (auto done = server->await_loaded(); !done) return std::move(done).error();
  return server;
}

EmbeddedRedis::Status EmbeddedRedis::prepare_directories() {
  std::error_code error;
  fs::path& data = options_.data_dir;
  const bool created = fs::create_directories(data, error);
  if (created) fs::permissions(data, fs::perms::owner_all, error);
  if (!error) data = fs::canonical(data, error);
  if (!error && (!fs::is_directory(data) || ::access(data.c_str(), R_OK | W_OK | X_OK) != 0))
    error.assign(errno, std::system_category());
  if (error) {
    return EmbeddedError{Code::directory, "data directory " + data.string() + ": " + error.message() +
                                              "; choose another with --data-dir"};
  }

  fs::path& runtime = options_.runtime_dir;
  if (runtime.empty()) runtime = default_runtime_dir();
  const std::string own = "feedmill-" + std::to_string(::geteuid());
  // One that root owns and others may write to, as a volume of a container, is only good for one of ours inside.
  if (owner_of(runtime) == 0 && !is_own_private_directory(runtime)) runtime /= own;
  const std::string name = "redis-" + hex_of(XXH3_64bits(data.native().data(), data.native().size())) + ".sock";
  if ((runtime / name).native().size() > longest_socket_path) runtime = fs::path("/tmp") / own;  // RELIABILITY R3
  if (fs::create_directories(runtime, error)) fs::permissions(runtime, fs::perms::owner_all, error);
  if (!error && !is_own_private_directory(runtime)) error = std::make_error_code(std::errc::permission_denied);
  if (error) {
    return EmbeddedError{Code::directory, "runtime directory " + runtime.string() + ": " + error.message() +
                                              "; it must belong to this user; $XDG_RUNTIME_DIR names another"};
  }

  users_ = open_lock_file(in_data("users.lock"));
  if (!users_) return EmbeddedError{Code::directory, in_data("users.lock").string() + ": " + errno_text()};
  const bool alone = try_lock(users_, LOCK_EX);
  if (!lock_patiently(users_, LOCK_SH, options_.patience))
    return EmbeddedError{Code::occupied, "another process is stopping the server in " + data.string()};
  // Others that use the server expect it where it was.
  socket_ = alone ? fs::path() : Record::read(in_data("server.json")).socket;
  if (socket_.empty()) socket_ = runtime / name;
  return {};
}

EmbeddedRedis::Status EmbeddedRedis::attach() {
  const UniqueFd starting = open_lock_file(in_data("start.lock"));
  if (!starting || !lock_patiently(starting, LOCK_EX, options_.patience)) {
    return EmbeddedError{Code::occupied, "another process has been starting or stopping the server in " +
                                             options_.data_dir.string() + " for too long; is it stopped?"};
  }
  std::string reason;
  for (Patience patience(options_.patience); !patience.ended(); patience.wait()) {
    if (interrupted_) return EmbeddedError{Code::interrupted, "interrupted"};
    Record record = Record::read(in_data("server.json"));
    UniqueFd lock = open_lock_file(in_data("server.lock"));
    if (!lock) return EmbeddedError{Code::directory, in_data("server.lock").string() + ": " + errno_text()};
    if (try_lock(lock, LOCK_EX)) return start(std::move(lock), std::move(record));
    // Somebody holds it: our server from before, its AOF rewrite that outlives it a little, or a stranger.
    auto adopted = adopt(record);
    if (adopted.has_value()) return {};
    reason = adopted.error().detail;
  }
  return EmbeddedError{Code::occupied, "the data directory " + options_.data_dir.string() +
                                           " is in use, and not by a server of ours: " + reason};
}

/// RELIABILITY R5. Succeeds with true; an error says what does not agree, and may be gone a moment later.
boost::system::result<bool, EmbeddedError> EmbeddedRedis::adopt(Record& record) {
  const auto disagree = [](std::string what) { return EmbeddedError{Code::occupied, std::move(what)}; };
  auto talk = Talk::connect(record.socket);
  if (!talk) return disagree("nothing answers at \"" + record.socket.string() + "\"");
  const std::string pid_text = read_file(in_data("redis.pid"));
  int pid = 0;
  std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  if (pid <= 0 || talk->peer() != pid)
    return disagree("redis.pid does not name the process at " + record.socket.string());
  UniqueFd process = open_process(pid);
  const auto info = talk->ask({"INFO", "server"});
  if (!process || !info || info->type != '$') return disagree("the server at " + record.socket.string() + " is silent");
  const std::string run_id = info_field(info->text, "run_id");
  if (!record.run_id.empty() && record.run_id != run_id) return disagree("server.json tells of another run");
  if (record.run_id.empty()) {  // its starter was killed before it could write that down
    record.run_id = run_id;
    record.write(in_data("server.json"));
  }
  socket_ = record.socket;
  name_ = record.name;
  version_ = record.version;
  marker_ = record.marker;
  process_ = std::move(process);
  pid_ = pid;
  adopted_ = true;
  state_ = State::loading;
  return true;
}

EmbeddedRedis::Status EmbeddedRedis::start(UniqueFd server_lock, Record record) {
  // What root's server wrote, its usual one could not read again.
  struct stat status {};
  if (::fstat(server_lock.get(), &status) == 0 && status.st_uid != ::geteuid()) {
    return EmbeddedError{Code::occupied, "no server runs on " + options_.data_dir.string() +
                                             ", which belongs to another user (" + std::to_string(status.st_uid) +
                                             "): start its worker first (systemctl start feedmill)"};
  }
  for (const auto& socket : {record.socket, socket_}) {
    if (Talk::connect(socket)) {
      return EmbeddedError{Code::occupied, "a server that does not hold " + in_data("server.lock").string() +
                                               " listens at " + socket.string() + "; stop it first"};
    }
  }
  auto chosen = choose_program(record);
  if (!chosen) return std::move(chosen).error();
  const Program& program = *chosen;
  record.name = program.name;
  record.version = program.version;
  record.run_id.clear();
  record.socket = socket_;
  if (record.marker.empty()) record.marker = random_token();
  std::error_code ignored;
  for (const auto& leftover : {socket_, in_data("redis.pid"), beside_socket(".log")}) fs::remove(leftover, ignored);
  if (!record.write(in_data("server.json")))
    return EmbeddedError{Code::directory, in_data("server.json").string() + ": " + errno_text()};
  write_configuration();

  const UniqueFd log(::open(beside_socket(".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return EmbeddedError{Code::directory, beside_socket(".log").string() + ": " + errno_text()};
  // The lock stays with the server for as long as it lives: ours is closed on return, never unlocked.
  pid_ = spawn(program.path, {program.called, beside_socket(".conf").string()}, log.get(), server_lock.get());
  if (pid_ == 0) return EmbeddedError{Code::start_failed, program.path.string() + ": " + errno_text()};
  process_ = open_process(pid_);
  if (!process_) return EmbeddedError{Code::start_failed, "pidfd_open: " + errno_text()};
  name_ = record.name;
  version_ = record.version;
  marker_ = record.marker;
  adopted_ = false;
  state_ = State::loading;
  if (auto answered = await_answer(); !answered) return answered;
  auto talk = Talk::connect(socket_);
  const auto info = talk ? talk->ask({"INFO", "server"}) : std::nullopt;
  if (!info) return died_at_start();
  record.run_id = info_field(info->text, "run_id");
  if (!record.write(in_data("server.json")))
    return EmbeddedError{Code::directory, in_data("server.json").string() + ": " + errno_text()};
  return {};
}

boost::system::result<EmbeddedRedis::Program, EmbeddedError> EmbeddedRedis::choose_program(const Record& record) const {
  // RELIABILITY R1: the check tools are the same program, which looks at the name it was started under.
  constexpr std::pair<std::string_view, const char*> candidates[] = {{"valkey-server", "valkey-server"},
                                                                     {"redis-server", "redis-server"},
                                                                     {"redis-check-rdb", "redis-server"},
                                                                     {"valkey-check-rdb", "redis-server"}};
  const char* inherited_path = std::getenv("PATH");
  std::string search_path = options_.search_path;
  if (search_path.empty()) search_path = inherited_path != nullptr ? inherited_path : "/usr/local/bin:/usr/bin:/bin";
  std::string refused;
  for (const auto& [file, called] : candidates) {
    const auto path = find_executable(search_path, file);
    if (!path) continue;
    // "Redis server v=7.0.15 sha=…"
    std::istringstream words(output_of(*path, {called, "--version"}));
    Program program{*path, called, {}, {}};
    std::string server;
    words >> program.name >> server >> program.version;
    if (server != "server" || !program.version.starts_with("v=")) continue;
    program.version.erase(0, 2);
    program.name.front() |= 0x20;
    refused = objection_to(program, record);
    if (refused.empty()) return program;
  }
  if (!refused.empty()) return EmbeddedError{Code::version, refused};
  return EmbeddedError{Code::no_program,
                       "no Redis server program found: install the package valkey-server or redis-server (redis-tools "
                       "suffices), or name a running server with --redis"};
}

/// Why a program must not run on the data directory, "" when it may (RELIABILITY R10).
std::string EmbeddedRedis::objection_to(const Program& program, const Record& record) const {
  const std::string what = program.path.string() + " (" + program.name + " " + program.version + ")";
  if (version_of(program.version) < Version{7, 0}) return what + " is too old; version 7.0 or later is needed";
  if (reads_files_of(program.name, version_of(program.version), record.name, version_of(record.version))) return {};
  return what + " cannot read the data in " + options_.data_dir.string() + ", which " + record.name + " " +
         record.version + " wrote; install that, or move the data with `store export` and `store import`";
}

/// RELIABILITY R2, SECURITY A5.
void EmbeddedRedis::write_configuration() const {
  std::string text = "port 0\n";
  text += "unixsocket " + config_word(socket_.native()) + "\n";
  text += "unixsocketperm 700\n";
  text += "dir " + config_word(options_.data_dir.native()) + "\n";
  text += "pidfile " + config_word(in_data("redis.pid").native()) + "\n";
  text += "logfile " + config_word(beside_socket(".log").native()) + "\n";
  text +=
      "loglevel notice\n"
      "daemonize no\n"
      "supervised no\n"
      "appendonly yes\n"
      "appendfsync everysec\n"
      "aof-load-truncated yes\n"
      "save \"\"\n"
      "maxmemory-policy noeviction\n"
      "protected-mode yes\n"
      "enable-debug-command no\n"
      "enable-module-command no\n";
  if (options_.max_memory > 0) text += "maxmemory " + std::to_string(options_.max_memory) + "\n";
  write_file(beside_socket(".conf"), text);
}

EmbeddedRedis::Status EmbeddedRedis::await_answer() {
  for (Patience patience(options_.patience); !patience.ended(); patience.wait()) {
    if (interrupted_) return EmbeddedError{Code::interrupted, "interrupted"};
    if (server_ended(0ms)) return died_at_start();
    if (auto talk = Talk::connect(socket_); talk && talk->ask({"PING"})) return {};
  }
  return died_at_start();
}

EmbeddedError EmbeddedRedis::died_at_start() const {
  const std::string log = read_file(beside_socket(".log"));
  const fs::path files = in_data("appendonlydir");
  // RELIABILITY R9: nothing is repaired by itself.
  for (const char* sign : {"Bad file format reading the append only file", "Unexpected end of file reading the append",
                           "Wrong signature trying to load DB from file", "Internal error in RDB reading",
                           "Short read or OOM loading DB"}) {
    if (log.find(sign) == std::string::npos) continue;
    const std::string tool = name_ + "-check-aof";
    return EmbeddedError{Code::damaged, "the files in " + files.string() + " are damaged; copy that directory to " +
                                            files.string() + ".backup, then run " + tool + " --fix " +
                                            (files / "appendonly.aof.manifest").string()};
  }
  std::string last;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = std::move(line);
  return EmbeddedError{Code::start_failed, server() + " did not start: " + (last.empty() ? "it said nothing" : last)};
}

EmbeddedRedis::Status EmbeddedRedis::await_loaded() {
  for (Patience patience(0ms);; patience.wait()) {  // however long it takes: RELIABILITY R7
    if (interrupted_) return EmbeddedError{Code::interrupted, "interrupted"};
    auto talk = Talk::connect(socket_);
    const auto answer = talk ? talk->ask({"PING"}) : std::nullopt;
    // One that cannot write its file refuses even this (MISCONF), and has loaded all the same.
    if (answer && !answer->is_error("LOADING")) break;
    if (server_ended(0ms)) return died_at_start();
  }
  auto checked = check_marker();
  if (checked) state_ = State::ready;
  return checked;
}

EmbeddedRedis::Status EmbeddedRedis::check_marker() {
  auto talk = Talk::connect(socket_);
  const auto found = talk ? talk->ask({"GET", marker_key}) : std::nullopt;
  if (!found) return EmbeddedError{Code::start_failed, "the server at " + socket_.string() + " fell silent"};
  if (found->type == '$' && found->text == marker_) return {};
  if (found->type == '_') {
    talk->ask({"SET", marker_key, marker_});
    return {};
  }
  process_.reset();  // not ours to stop
  return EmbeddedError{Code::occupied, "the data behind " + socket_.string() + " does not belong to " +
                                           options_.data_dir.string() + ": " + std::string(marker_key) +
                                           " is not what server.json says; was a file copied from elsewhere?"};
}

// --- closing ---------------------------------------------------------------------------------------------------------

EmbeddedRedis::~EmbeddedRedis() {
  if (!users_ || !process_) return;
  const UniqueFd stopping = open_lock_file(in_data("start.lock"));
  if (!stopping || !lock_patiently(stopping, LOCK_EX, options_.patience)) return;
  if (try_lock(users_, LOCK_EX)) stop_server();
}

void EmbeddedRedis::stop_server() {
  for (Patience patience(one_farewell); !patience.ended() && !server_ended(0ms); patience.wait()) {
    auto talk = Talk::connect(socket_);
    // It answers only when it will not, as while it writes its first AOF.
    if (talk && !talk->ask({"SHUTDOWN"})) server_ended(one_farewell);
  }
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (server_ended(0ms)) break;
    ::syscall(SYS_pidfd_send_signal, process_.get(), signal, nullptr, 0);
    server_ended(one_farewell);
  }
  reap();
  std::error_code ignored;
  for (const auto& ours : {socket_, beside_socket(".conf"), beside_socket(".log")}) fs::remove(ours, ignored);
}

/// Waits for the server to end, for at most `wait`.
bool EmbeddedRedis::server_ended(milliseconds wait) const {
  pollfd watched{process_.get(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(wait.count())) > 0;
}

/// Takes the exit status of a server that is our child; of another's, init does.
void EmbeddedRedis::reap() {
  ::waitpid(pid_, nullptr, WNOHANG);
}

// --- supervising -----------------------------------------------------------------------------------------------------

asio::awaitable<void> EmbeddedRedis::supervise(asio::thread_pool& pool,
                                               std::function<void(const EmbeddedEvent&)> tell) {
  using namespace asio::experimental::awaitable_operators;
  co_await (watch(pool, tell) && follow_log(tell));  // neither ends by itself
}

asio::awaitable<void> EmbeddedRedis::watch(asio::thread_pool& pool, std::function<void(const EmbeddedEvent&)>& tell) {
  using Kind = EmbeddedEvent::Kind;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  std::deque<Clock::time_point> crashes;
  std::string why;
  for (;;) {
    if (state_ == State::loading) {
      const Status loaded = co_await run_on(pool, [&] { return await_loaded(); });
      if (!loaded) why = loaded.error().detail;
    }
    if (process_) {
      asio::posix::stream_descriptor process(executor, ::fcntl(process_.get(), F_DUPFD_CLOEXEC, 3));
      co_await process.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
      if (why.empty()) why = server() + " ended";
    }
    for (bool running = false; !running;) {
      reap();
      state_ = State::restarting;
      crashes.push_back(Clock::now());
      while (crashes.front() < Clock::now() - 10min) crashes.pop_front();
      const EmbeddedEvent crashed{Kind::crashed, LogLevel::error, std::exchange(why, {})};
      tell(crashed);
      if (crashes.size() >= 5 || !process_) {
        state_ = State::failed;
        const EmbeddedEvent gave_up{Kind::gave_up, LogLevel::error,
                                    "the server does not stay up; look into it and restart feedmill"};
        tell(gave_up);
        timer.expires_at(asio::steady_timer::time_point::max());
        co_await timer.async_wait(asio::use_awaitable);
      }
      timer.expires_after(std::min<milliseconds>(options_.restart_delay * (1 << (crashes.size() - 1)), 30s));
      co_await timer.async_wait(asio::use_awaitable);
      const Status restarted = co_await run_on(pool, [&] { return attach(); });
      running = restarted.has_value();
      if (!running) why = restarted.error().detail;
    }
    const EmbeddedEvent restarted{Kind::restarted, LogLevel::warn, server() + (adopted_ ? " adopted" : " started")};
    tell(restarted);
  }
}

asio::awaitable<void> EmbeddedRedis::follow_log(std::function<void(const EmbeddedEvent&)>& tell) {
  constexpr std::uintmax_t largest = 1 << 20, chunk = 64 << 10;
  const fs::path file = beside_socket(".log");
  std::error_code ignored;
  std::uintmax_t read = adopted_ ? fs::file_size(file, ignored) : 0;
  if (ignored) read = 0;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    const auto size = fs::file_size(file, ignored);
    if (!ignored && size < read) read = 0;
    if (!ignored && size > read) {
      std::ifstream in(file, std::ios::binary);
      in.seekg(static_cast<std::streamoff>(read));
      std::string text(std::min(size - read, chunk), '\0');
      in.read(text.data(), static_cast<std::streamsize>(text.size()));
      text.resize(text.rfind('\n') + 1);  // npos + 1 is 0: wait for the rest of the line
      read += text.size();
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        // "4711:M 01 Mar 2026 12:00:00.123 # Warning: …"; the mark says how important it is
        std::size_t mark = 0;
        for (int word = 0; word < 5 && mark != std::string::npos; ++word) mark = line.find(' ', mark + (word > 0));
        if (mark == std::string::npos || mark + 3 > line.size()) continue;
        const EmbeddedEvent event{EmbeddedEvent::Kind::log_line,
                                  line[mark + 1] == '#' ? LogLevel::warn : LogLevel::debug, line.substr(mark + 3)};
        tell(event);
      }
      if (read > largest) fs::resize_file(file, 0, ignored);
    }
    timer.expires_after(500ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace feedmill
