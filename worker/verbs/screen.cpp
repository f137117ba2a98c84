#include "worker/verbs/screen.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <sys/ioctl.h>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace feedmill {
namespace {

// xterm control sequences, understood by all current terminals: alternate screen, cursor, line wrap.
constexpr std::string_view enter_text = "\x1B[?1049h\x1B[?25l\x1B[?7l";
constexpr std::string_view leave_text = "\x1B[?7h\x1B[?25h\x1B[?1049l";

}  // namespace

Screen::Screen(Terminal& terminal) : terminal_(terminal) {
  enter();
}

Screen::~Screen() {
  leave();
}

void Screen::enter() {
  termios now{};
  if (tcgetattr(STDIN_FILENO, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  // Not by `terminal_`: it may throw, and ~Screen would not run.
  [[maybe_unused]] const ssize_t written = ::write(terminal_.out(), enter_text.data(), enter_text.size());
}

void Screen::leave() {
  [[maybe_unused]] const ssize_t written = ::write(terminal_.out(), leave_text.data(), leave_text.size());
  if (before_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &*before_);
}

Screen::Size Screen::size() const {
  winsize found{};
  Size size;
  if (ioctl(terminal_.out(), TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col > 0) size.columns = found.ws_col;
  if (found.ws_row > 0) size.rows = found.ws_row;
  return size;
}

void Screen::draw(std::span<const std::string> lines) {
  const std::size_t rows = size().rows;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), rows); ++i)
    text += fmt::format("\x1B[{};1H\x1B[2K{}", i + 1, lines[i]);
  if (lines.size() < rows) text += fmt::format("\x1B[{};1H\x1B[J", lines.size() + 1);
  terminal_.raw(text);
}

char Screen::key(std::chrono::milliseconds wait) {
  pollfd keyboard{before_ ? STDIN_FILENO : -1, POLLIN, 0};
  if (::poll(&keyboard, 1, static_cast<int>(wait.count())) <= 0) return 0;
  char struck = 0;
  const ssize_t got = ::read(STDIN_FILENO, &struck, 1);
  if (got == 1) return struck;
  if ((keyboard.revents & (POLLHUP | POLLERR)) != 0 || (got < 0 && errno == EIO)) throw OutputClosed{};
  return 0;
}

void Screen::suspend() {
  leave();
  std::raise(SIGTSTP);  // returns after SIGCONT
  enter();
}

}  // namespace feedmill
