#include "worker/redis_server/private_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "storage/redis/test_point.hpp"
#include "worker/base/terminal.hpp"
#include "worker/redis_server/server_files.hpp"
#include "worker/redis_server/server_program.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Code = EmbeddedError::Code;

constexpr std::string_view marker_key = "meta:embedded";
constexpr milliseconds one_farewell = 10s;
constexpr std::chrono::seconds one_refusal{1};

std::string errno_text() {
  return std::strerror(errno);
}

/// If root started a server in another user's directory, that user could not adopt it.
EmbeddedError left_to_its_user(const fs::path& data, uid_t user) {
  return {Code::occupied, "no server runs on " + data.string() + ", which belongs to another user (" +
                              std::to_string(user) + "): start its worker first (systemctl start feedmill)"};
}

EmbeddedError told_to_end() {
  return {Code::interrupted, "told to stop before the private server was up"};
}

std::string new_marker() {
  std::array<std::uint64_t, 2> words{};
  if (::getrandom(words.data(), sizeof words, 0) != sizeof words)
    throw std::runtime_error("getrandom: " + errno_text());
  return hex_of(words[0]) + hex_of(words[1]);
}

/// Our log level for a line of the server's log. `mark`: the server's own level, which is the same for its greetings
/// and its warnings.
LogLevel level_of(char mark, std::string_view text) {
  if (mark != '#') return LogLevel::debug;
  constexpr std::string_view talk[] = {
      "oO0OoO0OoO0Oo",      "Redis version=",          "Valkey version=",    "Configuration loaded",
      "Server initialized", "User requested shutdown", "Redis is now ready", "Valkey is now ready"};
  return std::ranges::any_of(talk, [&](std::string_view start) { return text.starts_with(start); }) ? LogLevel::debug
                                                                                                    : LogLevel::warn;
}

}  // namespace

int exit_code(Code code) {
  switch (code) {
    case Code::directory:
      return exits::directory;
    case Code::version:
      return exits::configuration;
    case Code::interrupted:
      return exits::unfinished;
    case Code::no_program:
    case Code::occupied:
    case Code::damaged:
    case Code::start_failed:
      break;
  }
  return exits::unavailable;
}

void throw_exception_from_error(const EmbeddedError& error, const boost::source_location&) {
  throw std::runtime_error(error.detail);
}

// --- opening ---------------------------------------------------------------------------------------------------------

boost::system::result<std::unique_ptr<EmbeddedRedis>, EmbeddedError> EmbeddedRedis::open(Options options) {
  std::unique_ptr<EmbeddedRedis> server(new EmbeddedRedis(std::move(options)));
  if (auto done = server->prepare_directories(); !done) return std::move(done).error();
  if (auto done = server->attach(); !done) return std::move(done).error();
  if (server->options_.wait_until_loaded)
    if (auto done = server->await_loaded(); !done) return std::move(done).error();
  server->options_.give_up = nullptr;
  return server;
}

std::string EmbeddedRedis::warning() const {
  if (!is_open_to_others(options_.data_dir)) return {};
  return "other users can enter the data directory " + options_.data_dir.string() + "; chmod 700 it";
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
  // In a directory owned by root and writable by others (such as a container's volume), use our own subdirectory.
  if (owner_of(runtime) == 0 && !is_own_private_directory(runtime)) runtime /= own;
  const std::string name = "redis-" + hex_of(XXH3_64bits(data.native().data(), data.native().size())) + ".sock";
  if ((runtime / name).native().size() > longest_socket_path) runtime = fs::path("/tmp") / own;  // RELIABILITY R3
  if (fs::create_directories(runtime, error)) fs::permissions(runtime, fs::perms::owner_all, error);
  if (!error && !is_own_private_directory(runtime)) error = std::make_error_code(std::errc::permission_denied);
  if (error) {
    return EmbeddedError{Code::directory, "runtime directory " + runtime.string() + ": " + error.message() +
                                              "; it must belong to this user; $XDG_RUNTIME_DIR names another"};
  }

  // The first server also creates the locks.
  const uid_t owner = owner_of(data).value_or(0);
  if (::geteuid() == 0 && owner != 0 && !fs::exists(in_data("server.lock"), error)) {
    return left_to_its_user(data, owner);
  }
  users_ = open_lock_file(in_data("users.lock"));
  if (!users_) return EmbeddedError{Code::directory, in_data("users.lock").string() + ": " + errno_text()};
  const bool alone = try_lock(users_, LOCK_EX);
  if (!lock(users_, LOCK_SH)) {
    users_.reset();
    if (is_told_to_end()) return told_to_end();
    return EmbeddedError{Code::occupied, "another process is stopping the server in " + data.string()};
  }
  // Other users of the server expect its socket unchanged.
  socket_ = alone ? fs::path() : ServerRecord::read(in_data("server.json")).socket;
  if (socket_.empty()) socket_ = runtime / name;
  return {};
}

bool EmbeddedRedis::lock(const UniqueFd& file, int kind) const {
  for (Patience patience(options_.patience); !try_lock(file, kind); patience.wait())
    if (patience.ended() || is_told_to_end()) return false;
  return true;
}

EmbeddedRedis::Status EmbeddedRedis::attach() {
  test_point("B1");
  const UniqueFd starting = open_lock_file(in_data("start.lock"));
  if (!starting || !lock(starting, LOCK_EX)) {
    if (is_told_to_end()) return told_to_end();
    return EmbeddedError{Code::occupied, "another process has been starting or stopping the server in " +
                                             options_.data_dir.string() + " for too long; is it stopped?"};
  }
  close_to_others(options_.data_dir);
  std::string reason;
  for (Patience patience(options_.patience); !patience.ended(); patience.wait()) {
    if (is_told_to_end()) return told_to_end();
    ServerRecord record = ServerRecord::read(in_data("server.json"));
    UniqueFd lock = open_lock_file(in_data("server.lock"));
    if (!lock) return EmbeddedError{Code::directory, in_data("server.lock").string() + ": " + errno_text()};
    if (try_lock(lock, LOCK_EX)) return start(std::move(lock), std::move(record));
    // The lock is held: by our earlier server, by its AOF rewrite (which outlives it briefly), or by a foreign process.
    auto adopted = adopt(std::move(record));
    if (adopted.has_value()) return {};
    reason = adopted.error().detail;
  }
  return EmbeddedError{Code::occupied, "the data directory " + options_.data_dir.string() +
                                           " is in use by a server that feedmill did not start: " + reason};
}

/// RELIABILITY R5. Returns true on success; an error describes the mismatch, which may be temporary.
boost::system::result<bool, EmbeddedError> EmbeddedRedis::adopt(ServerRecord record) {
  const auto disagree = [](std::string what) { return EmbeddedError{Code::occupied, std::move(what)}; };
  auto talk = ServerTalk::connect(record.socket);
  if (!talk) return disagree("nothing answers at \"" + record.socket.string() + "\"");
  const int pid = leading_number<int>(read_file(in_data("redis.pid")));
  if (pid <= 0 || talk->peer() != pid)
    return disagree("redis.pid does not name the process at " + record.socket.string());
  UniqueFd process = open_process(pid);
  const auto info = talk->ask({"INFO", "server"});
  if (!process || !info || info->type != '$') return disagree("the server at " + record.socket.string() + " is silent");
  const std::string run_id = info_field(info->text, "run_id");
  if (!record.run_id.empty() && record.run_id != run_id) return disagree("server.json belongs to another run");
  if (record.run_id.empty()) {  // its starter was killed before recording it
    record.run_id = run_id;
    record.write(in_data("server.json"));
  }
  socket_ = record.socket;
  record_ = std::move(record);
  process_ = std::move(process);
  pid_ = pid;
  adopted_ = true;
  state_ = State::loading;
  return true;
}

EmbeddedRedis::Status EmbeddedRedis::start(UniqueFd server_lock, ServerRecord record) {
  struct stat status {};
  if (::fstat(server_lock.get(), &status) == 0 && status.st_uid != ::geteuid()) {
    return left_to_its_user(options_.data_dir, status.st_uid);
  }
  for (const auto& socket : {record.socket, socket_}) {
    if (ServerTalk::connect(socket)) {
      return EmbeddedError{Code::occupied, "a server that does not hold " + in_data("server.lock").string() +
                                               " listens at " + socket.string() + "; stop it first"};
    }
  }
  const ServerWriter writer{record.name, record.version, options_.data_dir.string()};
  auto chosen = choose_program(options_.search_path, writer);
  if (!chosen) return std::move(chosen).error();
  const ServerProgram& program = *chosen;
  record.name = program.name;
  record.version = program.version;
  record.run_id.clear();
  record.socket = socket_;
  if (record.marker.empty()) record.marker = new_marker();
  std::error_code ignored;
  for (const auto& leftover : {socket_, in_data("redis.pid"), beside_socket(".log")}) fs::remove(leftover, ignored);
  if (!record.write(in_data("server.json")))
    return EmbeddedError{Code::directory, in_data("server.json").string() + ": " + errno_text()};
  write_file(beside_socket(".conf"), server_configuration(socket_, options_.data_dir, in_data("redis.pid"),
                                                          beside_socket(".log"), options_.max_memory));

  const UniqueFd log(::open(beside_socket(".log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return EmbeddedError{Code::directory, beside_socket(".log").string() + ": " + errno_text()};
  // The server holds the lock for its lifetime: our descriptor is closed on return, but never unlocked.
  pid_ = spawn(program.path, {program.called, beside_socket(".conf").string()}, log.get(), server_lock.get());
  if (pid_ == 0) return EmbeddedError{Code::start_failed, program.path.string() + ": " + errno_text()};
  process_ = open_process(pid_);
  if (!process_) return EmbeddedError{Code::start_failed, "pidfd_open: " + errno_text()};
  test_point("B2");
  record_ = std::move(record);
  adopted_ = false;
  state_ = State::loading;
  if (auto answered = await_answer(); !answered) return answered;
  auto talk = ServerTalk::connect(socket_);
  const auto info = talk ? talk->ask({"INFO", "server"}) : std::nullopt;
  if (!info) return died_at_start();
  record_.run_id = info_field(info->text, "run_id");
  if (!record_.write(in_data("server.json")))
    return EmbeddedError{Code::directory, in_data("server.json").string() + ": " + errno_text()};
  return {};
}

EmbeddedRedis::Status EmbeddedRedis::await_answer() {
  for (Patience patience(options_.patience); !patience.ended(); patience.wait()) {
    if (is_told_to_end()) return told_to_end();
    if (server_ended(0ms)) return died_at_start();
    if (auto talk = ServerTalk::connect(socket_); talk && talk->ask({"PING"})) return {};
  }
  return died_at_start();
}

EmbeddedError EmbeddedRedis::died_at_start() const {
  const std::string log = read_file(beside_socket(".log"));
  const fs::path files = in_data("appendonlydir");
  // RELIABILITY R9: no automatic repair.
  for (const char* sign : {"Bad file format reading the append only file", "Unexpected end of file reading the append",
                           "Wrong signature trying to load DB from file", "Internal error in RDB reading",
                           "Short read or OOM loading DB"}) {
    if (log.find(sign) == std::string::npos) continue;
    const std::string tool = record_.name + "-check-aof";
    return EmbeddedError{Code::damaged, "the files in " + files.string() + " are damaged; copy that directory to " +
                                            files.string() + ".backup, then run " + tool + " --fix " +
                                            (files / "appendonly.aof.manifest").string()};
  }
  std::string last;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = std::move(line);
  return EmbeddedError{Code::start_failed,
                       server() + " did not start: " + (last.empty() ? "without any output" : last)};
}

EmbeddedRedis::Status EmbeddedRedis::await_loaded() {
  for (Patience patience(0ms);; patience.wait()) {  // without a limit: RELIABILITY R7
    if (is_told_to_end()) return told_to_end();
    auto talk = ServerTalk::connect(socket_);
    const auto answer = talk ? talk->ask({"PING"}) : std::nullopt;
    // A server that cannot write its file refuses even this (MISCONF), but it has loaded.
    if (answer && !answer->is_error("LOADING")) break;
    if (server_ended(0ms)) return died_at_start();
  }
  auto checked = check_marker();
  if (checked) state_ = State::ready;
  return checked;
}

EmbeddedRedis::Status EmbeddedRedis::check_marker() {
  auto talk = ServerTalk::connect(socket_);
  const auto found = talk ? talk->ask({"GET", marker_key}) : std::nullopt;
  if (!found) return EmbeddedError{Code::start_failed, "the server at " + socket_.string() + " stopped answering"};
  if (found->type == '$' && found->text == record_.marker) return {};
  if (found->type == '_') {
    talk->ask({"SET", marker_key, record_.marker});
    return {};
  }
  process_.reset();  // must not stop it
  return EmbeddedError{Code::occupied, "the data at " + socket_.string() + " does not belong to " +
                                           options_.data_dir.string() + ": " + std::string(marker_key) +
                                           " does not match server.json; was a file copied from elsewhere?"};
}

// --- closing ---------------------------------------------------------------------------------------------------------

EmbeddedRedis::~EmbeddedRedis() {
  if (!users_ || !process_) return;
  const UniqueFd stopping = open_lock_file(in_data("start.lock"));
  if (!stopping) return;
  interrupted_ = false;
  if (options_.leave) options_.leave();  // consumes earlier requests to stop
  options_.give_up = options_.leave;
  if (!lock(stopping, LOCK_EX)) return;
  if (try_lock(users_, LOCK_EX)) stop_server();
}

void EmbeddedRedis::stop_server() {
  test_point("B6");
  for (Patience patience(one_farewell); !patience.ended() && !server_ended(0ms); patience.wait()) {
    auto talk = ServerTalk::connect(socket_, one_refusal);
    if (!talk && is_told_to_end()) return send_signal(SIGTERM);
    // The server answers SHUTDOWN only to refuse it, for example while it writes its first AOF.
    if (talk && !talk->ask({"SHUTDOWN"}) && !await_end()) return;
  }
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (server_ended(0ms)) break;
    send_signal(signal);
    if (!await_end()) return;
  }
  reap();
  if (owner_of(options_.data_dir) != ::geteuid()) return;  // the files belong to the directory's user
  std::error_code ignored;
  for (const auto& ours : {socket_, beside_socket(".conf"), beside_socket(".log")}) fs::remove(ours, ignored);
}

void EmbeddedRedis::abandon() {
  if (state_ != State::ready) return;  // it is being started
  const UniqueFd stopping = open_lock_file(in_data("start.lock"));
  if (stopping && try_lock(stopping, LOCK_EX) && try_lock(users_, LOCK_EX)) send_signal(SIGTERM);
}

/// Waits for the server to end, with a limit. Returns false if told to stop: it has been sent SIGTERM and ends by
/// itself.
bool EmbeddedRedis::await_end() {
  for (Patience patience(one_farewell); !patience.ended() && !server_ended(0ms); patience.wait()) {
    if (!is_told_to_end()) continue;
    send_signal(SIGTERM);
    return false;
  }
  return true;
}

void EmbeddedRedis::send_signal(int signal) const {
  ::syscall(SYS_pidfd_send_signal, process_.get(), signal, nullptr, 0);
}

/// Waits at most `wait` for the server to end.
bool EmbeddedRedis::server_ended(milliseconds wait) const {
  pollfd watched{process_.get(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(wait.count())) > 0;
}

/// Reaps the server if it is our child; init reaps any other.
void EmbeddedRedis::reap() {
  ::waitpid(pid_, nullptr, WNOHANG);
}

// --- supervision: restarts, and the server's log
// -----------------------------------------------------------------------

asio::awaitable<void> EmbeddedRedis::supervise(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)> tell) {
  using namespace asio::experimental::awaitable_operators;
  co_await (watch(calls, tell) && follow_log(tell));  // neither ends by itself
}

asio::awaitable<void> EmbeddedRedis::watch(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)>& tell) {
  using Kind = EmbeddedEvent::Kind;
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  std::deque<Clock::time_point> crashes;
  std::string why;
  for (;;) {
    if (state_ == State::loading) {
      const Status loaded = co_await run_on(calls, [&] { return await_loaded(); });
      if (!loaded) why = loaded.error().detail;
    }
    if (process_ && !interrupted_) {
      asio::posix::stream_descriptor process(executor, ::fcntl(process_.get(), F_DUPFD_CLOEXEC, 3));
      co_await process.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
      if (why.empty()) why = server() + " ended";
    }
    for (bool running = false; !running;) {
      if (interrupted_) co_return;  // we are stopping: do not start it again
      reap();
      state_ = State::restarting;
      crashes.push_back(Clock::now());
      while (crashes.front() < Clock::now() - 10min) crashes.pop_front();
      const EmbeddedEvent crashed{Kind::crashed, LogLevel::error, std::exchange(why, {})};
      tell(crashed);
      if (crashes.size() >= 5 || !process_) {
        state_ = State::failed;
        const EmbeddedEvent gave_up{Kind::gave_up, LogLevel::error,
                                    "the server keeps stopping; check it and restart feedmill"};
        tell(gave_up);
        timer.expires_at(asio::steady_timer::time_point::max());
        co_await timer.async_wait(asio::use_awaitable);
      }
      timer.expires_after(std::min<milliseconds>(options_.restart_delay * (1 << (crashes.size() - 1)), 30s));
      co_await timer.async_wait(asio::use_awaitable);
      const Status restarted = co_await run_on(calls, [&] { return attach(); });
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
        // "4711:M 01 Mar 2026 12:00:00.123 # Warning: …"; the mark is its level
        std::size_t mark = 0;
        for (int word = 0; word < 5 && mark != std::string::npos; ++word) mark = line.find(' ', mark + (word > 0));
        if (mark == std::string::npos || mark + 3 > line.size()) continue;
        std::string said = line.substr(mark + 3);
        const LogLevel level = level_of(line[mark + 1], said);
        const EmbeddedEvent event{EmbeddedEvent::Kind::log_line, level, std::move(said)};
        tell(event);
      }
      if (read > largest) fs::resize_file(file, 0, ignored);
    }
    timer.expires_after(500ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace feedmill
