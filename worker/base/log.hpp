// One structured line per event to stderr (OPERATIONS §5); what of outside text may be shown (SECURITY §6, K1).
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

/// "debug" …
std::string_view to_string(LogLevel level);

/// automatic: console on a terminal, else JSON. console is for eyes alone: time of day, level, message, address, and of
/// the rest what is no name of ours.
enum class LogFormat { automatic, json, logfmt, console };

/// Text from outside made fit for a terminal and for one line: control characters, invisible and direction-changing
/// ones as \xNN or \u{…}, and so are bytes that are no UTF-8 (SECURITY O2).
std::string clean(std::string_view text);

/// 16 hex digits that stand for a feed in logs.
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

/// How often the same thing may be said (RELIABILITY G2): per key 20 at once, then one in 10 s; 50 a second of all.
/// `now` must not go back.
class LogRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// How many of this key were left out since the last that was let through; nothing when this one is left out too.
  /// Debug lines count against the total only.
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

/// Writes lines on a thread of its own, from a queue of 1 MiB. When that is full the oldest debug lines go, then new
/// ones (RELIABILITY G4). Thread-safe.
class LogWriter {
 public:
  /// `fd` stays open for its life.
  explicit LogWriter(int fd);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// Waits for the lines to be written, for at most a second.
  ~LogWriter();

  /// How many lines were left out for it, this one or others.
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

/// Makes lines and hands them to a writer, without ever blocking its callers. Thread-safe.
class Log {
 public:
  struct Options {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::automatic;
    std::string worker;                        ///< goes into every line, "" = none
    std::optional<std::uint32_t> partition{};  ///< likewise, where the store has several
    int fd = 2;                                ///< must stay open for the log's life
  };

  /// `writer`: of `fd`, which other logs may use, too; null: one of its own. The last of them waits for the lines to be
  /// written, for at most a second.
  explicit Log(Options options, std::shared_ptr<LogWriter> writer = nullptr);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool enabled(LogLevel level) const { return level >= level_; }
  /// Least level that is written, from the next line on.
  void set_level(LogLevel level) { level_ = level; }

  /// `event` is one of OPERATIONS §5; `message` is for people. String fields are cleaned, redacted and cut; empty ones
  /// are left out. A field named "reason" takes part in the rate limit.
  void write(LogLevel level, std::string_view event, std::string_view message, std::span<const LogField> fields);
  void write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {}) {
    write(level, event, message, std::span(fields.begin(), fields.size()));
  }

  /// Lines left out so far, by the rate limit or a full queue.
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

/// What a refresh did: one line at debug; changes of the feed's state and address at info or warn (RELIABILITY G1).
void log_refresh(Log& log, const Report& report);

}  // namespace feedmill
