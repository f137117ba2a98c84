#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <boost/system/result.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "worker/base/posix_signals.hpp"
#include "worker/base/terminal.hpp"
#include "worker/base/units.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/config.hpp"
#include "worker/observe/store_health.hpp"
#include "worker/verbs/admin_client.hpp"
#include "worker/verbs/table.hpp"
#include "worker/verbs/top_view.hpp"

namespace feedmill {
namespace {

// xterm control sequences, understood by all current terminals: alternate screen, cursor, line wrap.
constexpr std::string_view enter_text = "\x1B[?1049h\x1B[?25l\x1B[?7l";
constexpr std::string_view leave_text = "\x1B[?7h\x1B[?25h\x1B[?1049l";

/// Switches to the alternate screen, hides the cursor and reads keys unbuffered, including Ctrl-C and Ctrl-Z; ~Screen
/// restores everything.
class Screen {
 public:
  struct Size {
    std::size_t columns = 80, rows = 24;
    bool operator==(const Size&) const = default;
  };

  /// `terminal` must satisfy can_draw() and outlive this.
  explicit Screen(Terminal& terminal) : terminal_(terminal) { enter(); }
  ~Screen() { leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const {
    winsize found{};
    Size size;
    if (ioctl(terminal_.out(), TIOCGWINSZ, &found) != 0) return size;
    if (found.ws_col > 0) size.columns = found.ws_col;
    if (found.ws_row > 0) size.rows = found.ws_row;
    return size;
  }
  /// Draws from the top; cuts lines below the screen. Lines must fit its width. Throws as Terminal::flush().
  void draw(std::span<const std::string> lines) {
    const std::size_t rows = size().rows;
    std::string text;
    for (std::size_t i = 0; i < std::min(lines.size(), rows); ++i)
      text += fmt::format("\x1B[{};1H\x1B[2K{}", i + 1, lines[i]);
    if (lines.size() < rows) text += fmt::format("\x1B[{};1H\x1B[J", lines.size() + 1);
    terminal_.raw(text);
  }
  /// The next key within `wait`; 0 if none was pressed or a signal arrived. Throws OutputClosed if the terminal is
  /// closed.
  char key(std::chrono::milliseconds wait) {
    pollfd keyboard{before_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (::poll(&keyboard, 1, static_cast<int>(wait.count())) <= 0) return 0;
    char struck = 0;
    const ssize_t got = ::read(STDIN_FILENO, &struck, 1);
    if (got == 1) return struck;
    if ((keyboard.revents & (POLLHUP | POLLERR)) != 0 || (got < 0 && errno == EIO)) throw OutputClosed{};
    return 0;
  }
  /// Suspends the process as Ctrl-Z does, and restores the terminal during that time.
  void suspend() {
    leave();
    std::raise(SIGTSTP);  // returns after SIGCONT
    enter();
  }

 private:
  void enter() {
    termios now{};
    if (tcgetattr(STDIN_FILENO, &now) == 0) {
      before_ = now;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
      now.c_cc[VMIN] = 0;
      now.c_cc[VTIME] = 0;
      tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
    }
    // Written without `terminal_`: it may throw, and ~Screen would not run.
    [[maybe_unused]] const ssize_t written = ::write(terminal_.out(), enter_text.data(), enter_text.size());
  }
  void leave() {
    [[maybe_unused]] const ssize_t written = ::write(terminal_.out(), leave_text.data(), leave_text.size());
    if (before_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &*before_);
  }

  Terminal& terminal_;
  std::optional<termios> before_;  ///< keyboard settings; empty if stdin is not a terminal
};

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds usual_interval{2000};
constexpr std::chrono::milliseconds between_looks{100};  // for size, keys and signals
constexpr double rate_seconds = 10;                      // period of current rates

constexpr char ctrl_c = 0x03, ctrl_l = 0x0C, ctrl_z = 0x1A, ctrl_backslash = 0x1C;

/// The worker's status, or why it is not available.
using StatusAnswer = boost::system::result<json::object, std::string>;

StatusAnswer ask(const AdminClient& client, const std::function<bool()>& go_on) {
  const AdminAnswer answer = client.get_of_store("/status.json", go_on);
  if (answer.status == 0) return visible(client.nobody(answer));
  if (answer.status == 401)
    return fmt::format("{} requires a token (401): set admin.token_file to the worker's token file", client.address());
  boost::system::error_code error;
  json::value status = json::parse(answer.body, error);
  if (answer.status != 200 || error || !status.is_object() || !status.as_object().contains("schema"))
    return fmt::format("{} (admin.listen) returns no status ({}): does the worker run the same version?",
                       client.address(), answer.status);
  return std::move(status.as_object());
}

bool not_interrupted() {
  stop_if_interrupted();
  return true;
}

/// Sleeps; Ctrl-C interrupts.
void wait_until(Clock::time_point end, Terminal& terminal) {
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    stop_if_interrupted();
    terminal.flush();  // notices a closed output
    std::this_thread::sleep_for(std::min<Clock::duration>(between_looks, end - now));
  }
}

/// Prints one line of JSON per interval, across restarts of the worker.
int repeat(const AdminClient& client, const json::object& first, std::chrono::milliseconds interval,
           Terminal& terminal) {
  auto asked_at = Clock::now();
  bool away = false;
  terminal.line(first);
  for (;;) {
    terminal.flush();
    wait_until(asked_at + interval, terminal);
    asked_at = Clock::now();
    const StatusAnswer status = ask(client, not_interrupted);
    if (status.has_value()) {
      terminal.line(*status);
    } else if (!away) {
      terminal.note(fmt::format("feedmill: {}: {}; retrying every {}", terminal.verb(), status.error(),
                                format_duration(interval)));
    }
    away = status.has_error();
  }
}

std::string painted(const TopLine& line, const Terminal& terminal) {
  switch (line.tone) {
    case TopLine::Tone::heading:
      return terminal.bold(line.text);
    case TopLine::Tone::trouble:
      return terminal.red(line.text);
    case TopLine::Tone::aside:
      return terminal.faint(line.text);
    case TopLine::Tone::plain:
      break;
  }
  return line.text;
}

/// The live view.
class LiveScreen {
 public:
  LiveScreen(const AdminClient& client, json::object first, std::chrono::milliseconds interval, Terminal& terminal)
      : client_(client), interval_(interval), terminal_(terminal) {
    moments_.push_back(std::move(first));
  }

  int watch() {
    Screen screen(terminal_);
    auto asked_at = Clock::now();
    for (;;) {
      draw(screen);
      for (auto now = Clock::now(); now < asked_at + interval_; now = Clock::now()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(asked_at + interval_ - now);
        if (!obey(screen, screen.key(std::min(between_looks, left)))) return exits::done;
        if (screen.size() != drawn_) draw(screen);
      }
      asked_at = Clock::now();
      bool quit = false;
      StatusAnswer status = ask(client_, [&] { return !(quit = quit || !obey(screen, screen.key({}))); });
      if (quit) return exits::done;
      if (status.has_value()) {
        trouble_.clear();
        take(std::move(*status));
      } else {
        trouble_ = status.error();
      }
    }
  }

 private:
  /// Handles a key; returns false to quit.
  bool obey(Screen& screen, char key) {
    stop_if_interrupted();
    if (key == ctrl_c || key == ctrl_backslash) throw Interrupted{};
    if (key == ctrl_z) screen.suspend();
    if (key == ctrl_z || key == ctrl_l) draw(screen);
    return key != 'q' && key != 'Q';
  }

  /// Keeps statuses for computing rates; the first is the oldest within the period.
  void take(json::object status) {
    moments_.push_back(std::move(status));
    while (moments_.size() > 1 && !seconds_between(moments_.front(), moments_.back())) moments_.pop_front();
    while (moments_.size() > 2 && seconds_between(moments_[1], moments_.back()) >= rate_seconds) moments_.pop_front();
    // A cached response has no new figures.
    if (moments_.size() >= 2 && seconds_between(moments_[moments_.size() - 2], moments_.back()) == 0.0)
      moments_.erase(moments_.end() - 2);
  }

  void draw(Screen& screen) {
    drawn_ = screen.size();
    TopFrame frame;
    frame.width = drawn_.columns;
    frame.height = drawn_.rows;
    frame.trouble = trouble_;
    frame.footer = fmt::format("q quits; updates every {}", format_duration(interval_));
    std::vector<std::string> lines;
    for (const TopLine& line : top_view(moments_.back(), moments_.size() > 1 ? &moments_.front() : nullptr, frame))
      lines.push_back(painted(line, terminal_));
    screen.draw(lines);
  }

  const AdminClient& client_;
  std::chrono::milliseconds interval_;
  Terminal& terminal_;
  std::deque<json::object> moments_;
  std::string trouble_;
  Screen::Size drawn_;
};

void check_top(const OperationValues& given) {
  if (given.truth("once") && given.has("interval")) refuse("--once and --interval exclude each other");
}

/// Live on a terminal until `q`; otherwise prints once. Throws Interrupted on Ctrl-C.
int watch_worker(const OperationValues& given, const Config& config, Terminal& terminal) {
  note_interrupts();
  if (std::string unnamed = config.objection_to_partition(); !unnamed.empty())
    throw VerbFailure{exits::configuration, std::move(unnamed)};
  const AdminClient client = AdminClient::open(config);
  StatusAnswer status = ask(client, not_interrupted);
  if (status.has_error()) throw VerbFailure{exits::no, status.error()};
  const auto interval = given.duration("interval", usual_interval);
  if (terminal.json()) {
    if (given.has("interval")) return repeat(client, *status, interval, terminal);
    terminal.line(*status);
    return exits::done;
  }
  if (!given.truth("once") && terminal.can_draw())
    return LiveScreen(client, std::move(*status), interval, terminal).watch();
  TopFrame frame;
  frame.width = terminal.width();
  for (const TopLine& line : top_view(*status, nullptr, frame)) terminal.line(painted(line, terminal));
  return exits::done;
}

}  // namespace

VerbRow top_verb() {
  static constexpr std::array taken{fields::flag("--once", "Print once and exit (default without a terminal)"),
                                    fields::duration("--interval", "Refresh interval (2s); with --json, one line each",
                                                     std::chrono::milliseconds(500), std::chrono::hours(1))};
  return {.name = "top",
          .about = "Watch the running worker on this machine: rates, lateness, hosts, notices; q quits",
          .example = "feedmill top --interval 5s",
          .exits = "1 when no worker answers at first; later it waits for one",
          .fields = taken,
          .check = check_top,
          .run = watch_worker};
}

}  // namespace feedmill
