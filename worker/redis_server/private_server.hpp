// The private Redis or Valkey server that runs when no redis.url is configured: one command, nothing set up
// (RELIABILITY §10).
//
// In the data directory (mode 700): what the server writes, and of ours
//   server.json   name, version, run id and socket of the server that last ran here, and the value of its marker key
//   server.lock   flock held by the server process itself through an inherited descriptor: one server per directory
//   users.lock    flock shared by every process that uses the server; whoever gets it exclusively stops the server
//   start.lock    flock held while somebody starts, adopts or stops the server
//   redis.pid     written by the server
// The socket, the server's configuration and its log lie in the runtime directory.
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
#include "worker/base/unique_fd.hpp"

namespace feedmill {

struct EmbeddedError {
  enum class Code {
    no_program,    ///< neither Redis nor Valkey is installed
    directory,     ///< the data or runtime directory cannot be used
    version,       ///< the installed server is too old, or cannot read what another one wrote
    occupied,      ///< something that is not our server uses the directory
    damaged,       ///< the server refuses to load its files
    start_failed,  ///< the server ended, or did not answer
    interrupted,   ///< it was told to end meanwhile
  };
  Code code{};
  std::string detail;  ///< what, where, and what to do
};

/// The exit code that tells a shell or systemd what `code` means (RELIABILITY §11).
int exit_code(EmbeddedError::Code code);

[[noreturn]] void throw_exception_from_error(const EmbeddedError& error, const boost::source_location&);

/// What happened to the server while it was supervised.
struct EmbeddedEvent {
  enum class Kind { log_line, crashed, restarted, gave_up };
  Kind kind{};
  LogLevel level{};    ///< how important it is
  std::string detail;  ///< a line of the server's own log, or what happened
};

struct ServerRecord;

/// A running private server and our share in it. The server is started by the first user of a data directory, shared
/// with others, adopted when its starter was killed, and stopped by the last one that goes.
class EmbeddedRedis {
 public:
  struct Options {
    std::filesystem::path data_dir;  ///< created when missing
    std::uint64_t max_memory = 0;    ///< bytes of data that one started here may hold, 0 = as many as it likes
    /// False: open() returns while the server still loads its files, and supervise() waits for it (RELIABILITY R7).
    bool wait_until_loaded = true;
    std::chrono::milliseconds patience{30'000};    ///< for a lock that is held, and for a server to answer
    std::chrono::milliseconds restart_delay{500};  ///< after the first crash; doubles
    std::filesystem::path runtime_dir;             ///< "" = default_runtime_dir() of server_files.hpp
    std::string search_path;                       ///< where programs are looked for, as $PATH; "" = $PATH
    std::function<bool()> give_up;  ///< asked while open() waits: true ends it, interrupted, as interrupt() does later
    /// Asked at the end: true, once for each time somebody was told to stop; then the server is left to end by itself.
    std::function<bool()> leave;
  };

  enum class State { loading, ready, restarting, failed };

  /// Adopts the server that runs on the data directory, or starts one. Blocks until it answers, and until it has loaded
  /// its files unless told otherwise.
  static boost::system::result<std::unique_ptr<EmbeddedRedis>, EmbeddedError> open(Options options);

  EmbeddedRedis(const EmbeddedRedis&) = delete;
  EmbeddedRedis& operator=(const EmbeddedRedis&) = delete;

  /// Gives up our share; when nobody else has one, stops the server: SHUTDOWN, after 10 s SIGTERM, after 10 s SIGKILL,
  /// or SIGTERM and no more waiting once Options::leave says so.
  ~EmbeddedRedis();

  /// "unix:///run/…/redis-0123456789abcdef.sock"; stays the same over restarts by supervise().
  std::string url() const { return "unix://" + socket_.string(); }

  /// "redis 7.0.15", "valkey 8.1.1".
  std::string server() const { return name_ + " " + version_; }

  int pid() const { return pid_; }
  /// What to warn the operator of: other users may list or enter the data directory. "" when they may not.
  std::string warning() const;
  bool adopted() const { return adopted_; }

  /// May be asked from any thread.
  State state() const { return state_; }

  /// Restarts the server when it dies: after 0.5 s · 2^k, at most 30 s; gives up after 5 crashes in 10 min (RELIABILITY
  /// R8). `tell` is called on the caller's executor; blocking work goes to `calls`. Both must outlive the coroutine,
  /// which ends by cancellation only.
  boost::asio::awaitable<void> supervise(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)> tell);

  /// For who ends without the destructor: a server that nobody else uses is told to end, and not waited for.
  void abandon();

  /// Lets a start that is going on in supervise() end at once; from any thread. It is not tried again.
  void interrupt() { interrupted_ = true; }

 private:
  using Status = boost::system::result<void, EmbeddedError>;

  explicit EmbeddedRedis(Options options) : options_(std::move(options)) {}

  Status prepare_directories();
  Status attach();
  Status start(UniqueFd server_lock, ServerRecord record);
  boost::system::result<bool, EmbeddedError> adopt(ServerRecord& record);
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
  /// False when the lock was held for as long as there is patience, or until we were told to end.
  bool lock(const UniqueFd& file, int kind) const;
  boost::asio::awaitable<void> watch(BlockingCalls& calls, std::function<void(const EmbeddedEvent&)>& tell);
  boost::asio::awaitable<void> follow_log(std::function<void(const EmbeddedEvent&)>& tell);
  std::filesystem::path in_data(std::string_view name) const { return options_.data_dir / name; }
  std::filesystem::path beside_socket(std::string_view extension) const {
    return std::filesystem::path(socket_).replace_extension(extension);
  }

  Options options_;
  std::filesystem::path socket_;
  std::string name_, version_, marker_;
  UniqueFd users_;    // our share
  UniqueFd process_;  // pidfd of the server
  int pid_ = 0;
  bool adopted_ = false;
  std::atomic<State> state_{State::loading};
  std::atomic<bool> interrupted_{false};
};

}  // namespace feedmill
