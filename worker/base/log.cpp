#include "worker/base/log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <xxhash.h>

#include "parsers/text/strings.hpp"
#include "worker/base/redact.hpp"
#include "worker/base/report.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = 8 << 10;  // SECURITY O2
constexpr std::size_t longest_value = 2 << 10;
constexpr std::size_t longest_queue = 1 << 20;  // RELIABILITY G4

// --- clean -----------------------------------------------------------------------------------------------------------

/// Zero-width, direction-changing and other characters that hide or reorder the text around them.
bool is_deceptive(char32_t c) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5},
      {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
      {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::ranges::any_of(ranges, [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// --- lines -----------------------------------------------------------------------------------------------------------

std::string logfmt_text(const std::string& value) {
  if (value.find_first_of(" \"=\\") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// Rounded to thousandths: most are seconds.
std::string number_text(double number) {
  std::array<char, 32> digits;
  const double rounded = std::round(number * 1000) / 1000;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), rounded).ptr;
  return std::string(digits.data(), end);
}

/// Builds one line.
class LineBuilder {
 public:
  explicit LineBuilder(LogFormat format) : format_(format) {}

  void add(std::string_view name, const std::string& value) {
    if (format_ == LogFormat::json) {
      append(name, boost::json::serialize(boost::json::string(value)));
    } else if (format_ == LogFormat::logfmt) {
      append(name, logfmt_text(value));
    } else {
      add_for_eyes(name, value);
    }
  }
  void add(const LogField& field) {
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      if (!text->empty())
        add(field.name, std::string(utf8_prefix(clean(utf8_prefix(redact(*text), longest_value)), longest_value)));
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      append(field.name, std::to_string(*number));
    } else if (const auto* fraction = std::get_if<double>(&field.value)) {
      append(field.name, number_text(*fraction));
    } else {
      append(field.name, std::get<bool>(field.value) ? "true" : "false");
    }
  }
  std::string finish() { return format_ == LogFormat::json ? (line_.empty() ? "{" : line_) + "}\n" : line_ + "\n"; }

 private:
  /// Skips a field that would make the line too long.
  void append(std::string_view name, const std::string& encoded) {
    if (line_.size() + name.size() + encoded.size() + 32 > longest_line) return;
    if (format_ == LogFormat::json) {
      line_.append(line_.empty() ? "{\"" : ",\"").append(name).append("\":").append(encoded);
    } else {
      line_.append(line_.empty() ? "" : " ").append(name).append("=").append(encoded);
    }
  }

  void add_for_eyes(std::string_view name, const std::string& value) {
    if (name == "event" || name == "worker" || name == "feed") return;  // for programs only
    if (line_.size() + value.size() + 32 > longest_line) return;
    if (name == "ts") {
      line_ = value.substr(value.find('T') + 1, 8);
    } else if (name == "level") {
      line_.append(" ").append(value).append(5 - value.size(), ' ');
    } else if (name == "msg" || name == "url") {
      line_.append("  ").append(value);
    } else {
      append(name, logfmt_text(value));
    }
  }

  const LogFormat format_;
  std::string line_;
};

/// Whether stderr is connected to the journal (systemd's $JOURNAL_STREAM).
bool is_journal(int fd) {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || ::fstat(fd, &status) != 0) return false;
  return stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string_view journal_priority(LogLevel level) {
  constexpr std::string_view priorities[] = {"<7>", "<6>", "<4>", "<3>"};
  return priorities[static_cast<std::size_t>(level)];
}

}  // namespace

std::string_view to_string(LogLevel level) {
  constexpr std::string_view names[] = {"debug", "info", "warn", "error"};
  return names[static_cast<std::size_t>(level)];
}

std::string clean(std::string_view text) {
  std::string cleaned;
  cleaned.reserve(text.size());
  while (!text.empty()) {
    const auto [character, size] = first_character(text);
    const std::size_t taken = std::max<std::size_t>(size, 1);
    if (size == 0 || character < 0x20 || character == 0x7f) {
      cleaned += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_deceptive(character)) {
      cleaned += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(character));
    } else {
      cleaned.append(text.substr(0, taken));
    }
    text.remove_prefix(taken);
  }
  return cleaned;
}

std::string feed_id(std::string_view feed_url) {
  return fmt::format("{:016x}", XXH3_64bits(feed_url.data(), feed_url.size()));
}

// --- LogRate ---------------------------------------------------------------------------------------------------------

bool LogRate::take(Bucket& bucket, double burst, double per_second, Time now) {
  const double passed = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(burst, bucket.tokens + passed * per_second);
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

std::optional<std::uint64_t> LogRate::admit(LogLevel level, std::string_view event, std::string_view reason, Time now) {
  if (!total_) total_ = Bucket{50, now, 0};
  std::string key(event);
  key.append("/").append(reason);
  // Events and reasons come from fixed lists, so there are few keys; this bounds any others.
  if (buckets_.size() > 1000) buckets_.clear();
  Bucket& own = buckets_.try_emplace(std::move(key), Bucket{20, now, 0}).first->second;
  const bool may = (level == LogLevel::debug || take(own, 20, 0.1, now)) && take(*total_, 50, 50, now);
  if (may) return std::exchange(own.suppressed, 0);
  ++own.suppressed;
  return std::nullopt;
}

// --- Log -------------------------------------------------------------------------------------------------------------

Log::Log(Options options, std::shared_ptr<LogWriter> writer)
    : options_([&] {
        if (options.format == LogFormat::automatic)
          options.format = ::isatty(options.fd) != 0 ? LogFormat::console : LogFormat::json;
        return std::move(options);
      }()),
      level_(options_.level),
      journal_(is_journal(options_.fd)),
      writer_(writer ? std::move(writer) : std::make_shared<LogWriter>(options_.fd)) {}

void Log::write(LogLevel level, std::string_view event, std::string_view message, std::span<const LogField> fields) {
  if (!enabled(level)) return;
  std::string_view reason;
  for (const auto& field : fields)
    if (const auto* text = std::get_if<std::string_view>(&field.value); text && field.name == "reason") reason = *text;
  std::optional<std::uint64_t> suppressed;
  {
    const std::lock_guard lock(mutex_);
    suppressed = rate_.admit(level, event, reason, Clock::now());
  }
  if (!suppressed) {
    ++suppressed_;
    return;
  }
  LineBuilder line(options_.format);
  line.add("ts", format_time(std::chrono::system_clock::now()));
  line.add("level", std::string(to_string(level)));
  line.add("event", std::string(event));
  line.add(LogField("msg", message));
  line.add(LogField("worker", options_.worker));
  if (options_.partition) line.add(LogField("partition", *options_.partition));
  if (*suppressed > 0) line.add(LogField("suppressed", *suppressed));
  for (const auto& field : fields) line.add(field);
  std::string text = line.finish();
  if (journal_ && options_.format != LogFormat::json) text.insert(0, journal_priority(level));
  suppressed_ += writer_->write(level, std::move(text));
}

// --- LogWriter -------------------------------------------------------------------------------------------------------

LogWriter::LogWriter(int fd) : fd_(fd), thread_([this] { write_lines(); }) {}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    deadline_ = Clock::now() + 1s;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t LogWriter::write(LogLevel level, std::string text) {
  std::uint64_t left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    while (queued_bytes_ + text.size() > longest_queue) {
      const auto oldest = std::ranges::find(queue_, LogLevel::debug, &Line::level);
      ++left_out;
      if (oldest == queue_.end()) return left_out;
      queued_bytes_ -= oldest->text.size();
      queue_.erase(oldest);
    }
    queued_bytes_ += text.size();
    queue_.push_back({level, std::move(text)});
  }
  changed_.notify_one();
  return left_out;
}

void LogWriter::write_lines() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Line line = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= line.text.size();
    lock.unlock();
    const bool written = write_out(line.text);
    lock.lock();
    if (!written) return;
  }
}

/// Returns false if the log is closing and the reader does not keep up. A ready pipe takes 4 KiB without blocking.
bool LogWriter::write_out(std::string_view text) {
  while (!text.empty()) {
    pollfd output{fd_, POLLOUT, 0};
    if (::poll(&output, 1, 100) == 0) {
      const std::lock_guard lock(mutex_);
      if (closing_ && Clock::now() > deadline_) return false;
      continue;
    }
    const auto written = ::write(fd_, text.data(), std::min<std::size_t>(text.size(), 4096));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return true;  // no reader; drop the line
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// --- log_refresh -----------------------------------------------------------------------------------------------------

namespace {

/// HTTP R8.
void log_move(Log& log, const Report& report, const std::string& feed) {
  const std::string detail = "from " + report.moved_from + " to " + report.moved_to;
  const std::initializer_list<LogField> fields{{"feed", feed}, {"url", report.feed_url}, {"detail", detail}};
  if (report.moved) {
    log.write(LogLevel::info, "feed_moved", "feed has moved permanently; feedmill move URL --undo reverts the move",
              fields);
  } else {
    log.write(LogLevel::warn, "notice",
              "feed would move to the URL of another feed; feeds are not merged: remove one of the two", fields);
  }
}

/// HTTP H4, H5, H11; RELIABILITY G1.
void log_host(Log& log, const Report& report) {
  if (report.storm && report.circuit_opened) {
    log.write(LogLevel::warn, "host_storm",
              "feeds of this host fail alike: they keep their state, and one at a time is tried",
              {{"host", report.host}, {"reason", report.host_cause}});
    return;
  }
  if (report.storm) {
    const bool well = report.outcome != Outcome::failed;
    log.write(
        well ? LogLevel::info : LogLevel::warn, "host_storm",
        well ? "host serves its feeds again" : "feeds of this host have failed for a week: they now fail individually",
        {{"host", report.host}});
    return;
  }
  if (!report.circuit_opened) {
    log.write(LogLevel::info, "host_backoff", "host serves again; requests to it are slowed for now",
              {{"host", report.host}});
    return;
  }
  const std::string until = format_time(std::chrono::system_clock::now() + report.circuit_open_for);
  log.write(LogLevel::warn, "host_backoff", "host asked for a pause; all its feeds wait",
            {{"host", report.host}, {"why", "host_backoff"}, {"reason", report.host_cause}, {"next_due", until}});
}

}  // namespace

void log_refresh(Log& log, const Report& report) {
  // A first success is expected, and an import would log thousands of such lines (HTTP §4).
  const bool expected = report.state_from == "new" && report.state_to == "healthy";
  const bool changed = report.state_from != report.state_to && !expected;
  const bool moves = report.moved || report.move_taken;
  const bool ignores = !report.ignored.empty(), has_backlog = report.backlog > 0;
  if (!changed && !moves && !ignores && !has_backlog && report.host.empty() && !log.enabled(LogLevel::debug)) return;
  const std::string feed = feed_id(report.feed_url);
  const std::string next_due = format_time(std::chrono::system_clock::now() + report.next_in);
  const auto milliseconds = [](std::chrono::duration<double> span) {
    return static_cast<std::int64_t>(span.count() * 1000);
  };
  std::vector<LogField> fields{{"feed", feed},
                               {"url", report.feed_url},
                               {"outcome", to_string(report.outcome)},
                               {"reason", to_string(report.reason)}};
  if (!report.statuses.empty()) fields.emplace_back("status", report.statuses.back());
  if (report.statuses.size() > 1) fields.emplace_back("hops", report.statuses.size());
  fields.insert(fields.end(), {{"bytes", report.body_bytes},
                               {"wire_bytes", report.wire_bytes},
                               {"took_ms", milliseconds(report.took)},
                               {"entries_new", report.created},
                               {"entries_changed", report.modified},
                               {"next_due", next_due},
                               {"why", report.due_reason},
                               {"detail", report.detail}});
  log.write(LogLevel::debug, "refresh", "", fields);
  if (changed) {
    const bool worse = report.state_to != "healthy", never_read = report.state_to == "never_read";
    std::vector<LogField> with_states = fields;
    with_states.emplace_back("state_from", report.state_from);
    with_states.emplace_back("state_to", report.state_to);
    const std::string message = never_read ? "feed has never been read; check its URL" : "feed is " + report.state_to;
    const bool known = !report.state_from.empty() && report.state_from != "new";
    log.write(worse && (known || never_read) ? LogLevel::warn : LogLevel::info, "feed_state", message, with_states);
  }
  if (moves) log_move(log, report, feed);
  if (ignores) {
    log.write(LogLevel::warn, "notice", "a stored setting of this feed is ignored; change it with feedmill set",
              {{"feed", feed}, {"url", report.feed_url}, {"detail", report.ignored}});
  }
  if (has_backlog) {
    log.write(LogLevel::info, "backlog",
              "posts older than all stored posts arrived together; their events are marked backlog",
              {{"feed", feed}, {"url", report.feed_url}, {"entries_new", report.backlog}});
  }
  if (!report.host.empty()) log_host(log, report);
}

}  // namespace feedmill
