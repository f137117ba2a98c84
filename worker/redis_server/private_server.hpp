// The private Redis or Valkey server that runs if no redis.url is configured: one command, no setup (RELIABILITY R1).
//
// In the data directory (mode 700), in addition to the server's own files:
//   server.json   name, version, run id and socket of the server that last ran here, and the value of its marker key
//   server.lock   flock held by the server process itself through an inherited descriptor: one server per directory
//   users.lock    flock shared by every process that uses the server; the one that gets it exclusively stops the server
//   start.lock    flock held while a process starts, adopts or stops the server
//   redis.pid     written by the server
// The socket, the server's configuration and its log are in the runtime directory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include "worker/base/blocking_calls.hpp"
#include "worker/base/log.hpp"
#include "worker/base/system.hpp"

namespace feedmill {

/// Why the private server could not be opened.
struct EmbeddedError {
  enum class Code {
    no_program,    ///< neither Redis nor Valkey is installed
    directory,     ///< the data or runtime directory cannot be used
    version,       ///< the installed server is too old, or cannot read the existing files
    occupied,      ///< something that is not our server uses the directory
    damaged,       ///< the server refuses to load its files
    start_failed,  ///< the server ended, or did not answer
    interrupted,   ///< a request to stop interrupted it
  };
  Code code{};
  std::string detail;  ///< what, where, and the remedy
};

/// The exit code for a shell or systemd (OPERATIONS §1).
int exit_code(EmbeddedError::Code code);

[[noreturn]] void throw_exception_from_error(const EmbeddedError& error, const boost::source_location&);

/// An event of the supervised server.
struct EmbeddedEvent {
  enum class Kind { log_line, crashed, restarted, gave_up };
  Kind kind{};
  LogLevel level{};    ///< severity in our log
  std::string detail;  ///< a line of the server's own log, or what happened
};

/// server.json: the server that last ran on a data directory.
struct ServerRecord {
  std::string name, version, run_id, marker;
  std::filesystem::path socket;

  /// Empty if the file is missing or damaged.
  static ServerRecord read(const std::filesystem::path& file);
  /// Replaces the file; false with errno.
  bool write(const std::filesystem::path& file) const;
};

/// Our share in a running private server. The first user of a data directory starts the server; others share it, or
/// adopt it if its starter was killed; the last to leave stops it.
class EmbeddedRedis {
 public:
  struct Options {
    std::filesystem::path data_dir;  ///< created if missing
    std::uint64_t max_memory = 0;    ///< limit of the data of a server started here, in bytes; 0 = none
    /// False: open() returns while the server is loading its files, and supervise() waits for it (RELIABILITY R7).
    bool wait_until_loaded = true;
    std::chrono::milliseconds patience{30'000};    ///< for a held lock, and for a server to answer
    std::chrono::milliseconds restart_delay{500};  ///< after the first crash; doubles
    std::filesystem::path runtime_dir;             ///< "" = default_runtime_dir() of server_files.hpp
    std::string search_path;                       ///< search path for programs, like $PATH; "" = $PATH
    std::function<bool()> give_up;  ///< polled while open() waits: true interrupts it, as interrupt() does later
    /// Polled while closing. Returns true once per request to stop; the server is then sent SIGTERM and not waited for.
    std::function<bool()> leave;
  };

  enum class State { loading, ready, restarting, failed };

  /// Adopts the server of the data directory, or starts one. Blocks until it answers and, with
  /// Options::wait_until_loaded, has loaded its files.
  static boost::system::result<std::unique_ptr<EmbeddedRedis>, EmbeddedError> open(Options options);

  EmbeddedRedis(const EmbeddedRedis&) = delete;
  EmbeddedRedis& operator=(const EmbeddedRedis&) = delete;

  /// Releases our share. The last share stops the server: SHUTDOWN, after 10 s SIGTERM, after 10 s SIGKILL; or, once
  /// Options::leave returns true, SIGTERM without waiting.
  ~EmbeddedRedis();

  /// "unix:///run/…/redis-0123456789abcdef.sock"; unchanged by restarts in supervise().
  std::string url() const { return "unix://" + socket_.string(); }

  /// "redis 7.0.15", "valkey 8.1.1".
  std::string server() const { return record_.name + " " + record_.version; }

  int pid() const { return pid_; }
  /// Warning for the operator if other users may list or enter the data directory; else "".
  std::string warning() const;
  /// Whether the server was already running when we opened it (or restarted it in supervise()).
  bool adopted() const { return adopted_; }

  /// From any thread.
  State state() const { return state_; }

  /// Restarts the server if it dies: after 0.5 s · 2^k, at most 30 s; gives up after 5 crashes in 10 min (RELIABILITY
  /// R8). Calls `tell` on the caller's executor; blocking work runs on `calls`. Both must outlive the coroutine, which
  /// ends only if cancelled.
  boost::asio::awaitable<void> supervise(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)> tell);

  /// For processes that exit without the destructor: sends SIGTERM to a server that has no other users, without
  /// waiting.
  void abandon();

  /// Interrupts a running start in supervise() for good; from any thread.
  void interrupt() { interrupted_ = true; }

 private:
  using Status = boost::system::result<void, EmbeddedError>;

  explicit EmbeddedRedis(Options options) : options_(std::move(options)) {}

  Status prepare_directories();
  Status attach();
  Status start(UniqueFd server_lock, ServerRecord record);
  boost::system::result<bool, EmbeddedError> adopt(ServerRecord record);
  Status await_answer();
  Status await_loaded();
  Status check_marker();
  EmbeddedError died_at_start() const;
  void stop_server();
  bool await_end();
  void send_signal(int signal) const;
  bool server_ended(std::chrono::milliseconds wait) const;
  void reap();
  bool is_told_to_end() const { return interrupted_ || (options_.give_up && options_.give_up()); }
  /// False if the lock did not become free within the patience, or if a stop was requested.
  bool lock(const UniqueFd& file, int kind) const;
  boost::asio::awaitable<void> watch(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)>& tell);
  boost::asio::awaitable<void> follow_log(std::function<void(const EmbeddedEvent&)>& tell);
  std::filesystem::path in_data(std::string_view name) const { return options_.data_dir / name; }
  std::filesystem::path beside_socket(std::string_view extension) const {
    return std::filesystem::path(socket_).replace_extension(extension);
  }

  Options options_;
  std::filesystem::path socket_;
  ServerRecord record_;  // of the server
  UniqueFd users_;       // our share
  UniqueFd process_;     // pidfd of the server
  int pid_ = 0;
  bool adopted_ = false;
  std::atomic<State> state_{State::loading};
  std::atomic<bool> interrupted_{false};
};

}  // namespace feedmill
