// Structured logging to stderr, one line per event (OPERATIONS §5), with outside text made safe (SECURITY O2, K1).
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

namespace feedmill {

struct Report;

enum class LogLevel { debug, info, warn, error };

/// "debug", "info", "warn" or "error".
std::string_view to_string(LogLevel level);

/// automatic: console on a terminal, else JSON. console is for people only: time of day, level, message, URL, and the
/// remaining fields except our internal names.
enum class LogFormat { automatic, json, logfmt, console };

/// Makes outside text safe for a terminal and for one line: control, invisible and direction-changing characters and
/// bytes that are not UTF-8 become \xNN or \u{…} (SECURITY O2).
std::string clean(std::string_view text);

/// 16 hex digits that identify a feed in logs.
std::string feed_id(std::string_view feed_url);

/// One field of a line. Views must live until write() returns.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double, bool> value;

  LogField(std::string_view field_name, std::string_view text) : name(field_name), value(text) {}
  LogField(std::string_view field_name, std::same_as<bool> auto truth) : name(field_name), value(truth) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) LogField(std::string_view field_name, Number number)
      : name(field_name), value(static_cast<std::int64_t>(number)) {}
  LogField(std::string_view field_name, std::floating_point auto number)
      : name(field_name), value(static_cast<double>(number)) {}
};

/// Rate limit of log lines (RELIABILITY G2): per key 20 at once, then one in 10 s; 50 a second in total. `now` must not
/// go backwards.
class LogRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Number of lines of this key suppressed since the last admitted one; empty if this line is suppressed too. Debug
  /// lines count against the total only.
  std::optional<std::uint64_t> admit(LogLevel level, std::string_view event, std::string_view reason, Time now);

 private:
  struct Bucket {
    double tokens = 0;
    Time filled;
    std::uint64_t suppressed = 0;
  };
  static bool take(Bucket& bucket, double burst, double per_second, Time now);

  std::map<std::string, Bucket, std::less<>> buckets_;
  std::optional<Bucket> total_;
};

/// Writes lines on its own thread from a 1 MiB queue. If it is full, the oldest debug lines are dropped, then new lines
/// (RELIABILITY G4). Thread-safe.
class LogWriter {
 public:
  /// `fd` must stay open for the writer's lifetime.
  explicit LogWriter(int fd);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// Waits up to a second for queued lines to be written.
  ~LogWriter();

  /// Queues a line. Returns how many lines were dropped for lack of space, including this one.
  std::uint64_t write(LogLevel level, std::string text);

 private:
  struct Line {
    LogLevel level;
    std::string text;
  };

  void write_lines();
  bool write_out(std::string_view text);

  const int fd_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<Line> queue_;
  std::size_t queued_bytes_ = 0;
  bool closing_ = false;
  std::chrono::steady_clock::time_point deadline_;  // of closing
  std::thread thread_;
};

/// Formats lines and queues them on a writer; never blocks callers. Thread-safe.
class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::automatic;
    std::string worker;                        ///< added to every line; "": none
    std::optional<std::uint32_t> partition{};  ///< added to every line; set if the store has several
    int fd = 2;                                ///< must stay open for the log's life
  };

  /// `writer`: of `fd`, may be shared with other logs; null: creates its own. Destroying a writer's last log waits up
  /// to a second for its lines.
  explicit Log(Options options, std::shared_ptr<LogWriter> writer = nullptr);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const { return level >= level_; }
  /// Sets the lowest level written, from the next line on.
  void set_level(LogLevel level) { level_ = level; }

  /// `event` is one of OPERATIONS §5; `message` is for people. String fields are cleaned, redacted and truncated; empty
  /// ones are omitted. A field named "reason" is part of the rate-limit key.
  void write(LogLevel level, std::string_view event, std::string_view message, std::span<const LogField> fields);
  void write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {}) {
    write(level, event, message, std::span(fields.begin(), fields.size()));
  }

  /// Lines dropped so far by the rate limit or a full queue.
  std::uint64_t suppressed() const { return suppressed_; }

 private:
  const Options options_;
  std::atomic<LogLevel> level_;
  bool journal_ = false;
  std::atomic<std::uint64_t> suppressed_ = 0;
  std::mutex mutex_;  // guards the following
  LogRate rate_;
  std::shared_ptr<LogWriter> writer_;
};

/// Logs a refresh: one line at debug; changes of the feed's state and URL at info or warn (RELIABILITY G1).
void log_refresh(Log& log, const Report& report);

}  // namespace feedmill
