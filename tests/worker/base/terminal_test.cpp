#include "worker/base/terminal.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace feedmill::terminal_test {
namespace {

/// A pipe that the test reads on request.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }
  std::string read() {
    std::array<char, 4096> block;
    const ssize_t got = ::read(ends_[0], block.data(), block.size());
    return got > 0 ? std::string(block.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  std::array<int, 2> ends_{};
};

/// A pseudo-terminal of 40 columns.
class PseudoTerminal {
 public:
  PseudoTerminal() {
    winsize size{};
    size.ws_col = 40;
    size.ws_row = 10;
    EXPECT_EQ(openpty(&outer_, &inner_, nullptr, nullptr, &size), 0);
  }
  ~PseudoTerminal() {
    ::close(outer_);
    ::close(inner_);
  }
  int inner() const { return inner_; }
  /// Reads until the output contains `end`: a terminal delivers it in pieces.
  std::string read(std::string_view end) {
    std::string all;
    do {
      std::array<char, 4096> block;
      const ssize_t got = ::read(outer_, block.data(), block.size());
      if (got <= 0) break;
      all.append(block.data(), static_cast<std::size_t>(got));
    } while (!all.ends_with(end));
    return all;
  }

 private:
  int outer_ = -1, inner_ = -1;
};

struct VisibleCase {
  const char* name;
  std::string text;
  const char* shown;
};
class Visible : public testing::TestWithParam<VisibleCase> {};
TEST_P(Visible, CannotSteerATerminal) {
  EXPECT_EQ(visible(GetParam().text), GetParam().shown);
}
INSTANTIATE_TEST_SUITE_P(
    All, Visible,
    testing::Values(
        VisibleCase{"Plain", "a b", "a b"}, VisibleCase{"Umlaut", "ä€😀", "ä€😀"},
        VisibleCase{"Escape", "\x1B[31mred", "\\x1B[31mred"}, VisibleCase{"Nul", std::string("a\0b", 3), "a\\x00b"},
        VisibleCase{"LineFeed", "a\nb", "a\\x0Ab"}, VisibleCase{"Return", "a\rb", "a\\x0Db"},
        VisibleCase{"Tab", "a\tb", "a\\x09b"}, VisibleCase{"Bell", "\a", "\\x07"},
        VisibleCase{"Delete", "\x7F", "\\x7F"},
        VisibleCase{"C1",
                    "\xC2\x9B"
                    "31m",
                    "\\u{9B}31m"},
        VisibleCase{"RightToLeftOverride", "a\u202Eb", "a\\u{202E}b"}, VisibleCase{"Isolate", "\u2066", "\\u{2066}"},
        VisibleCase{"ArabicMark", "\u061C", "\\u{61C}"}, VisibleCase{"ZeroWidthSpace", "\u200B", "\\u{200B}"},
        VisibleCase{"ZeroWidthJoiner", "\u200D", "\\u{200D}"}, VisibleCase{"WordJoiner", "\u2060", "\\u{2060}"},
        VisibleCase{"ByteOrderMark", "\uFEFF", "\\u{FEFF}"}, VisibleCase{"SoftHyphen", "\u00AD", "\\u{AD}"},
        VisibleCase{"Filler", "\u3164", "\\u{3164}"}, VisibleCase{"LineSeparator", "\u2028", "\\u{2028}"},
        VisibleCase{"Tag", "\U000E0041", "\\u{E0041}"},
        VisibleCase{"NotUtf8", "\xFF\x41",
                    "\\xFF"
                    "A"},
        VisibleCase{"Overlong", "\xC0\xAF", "\\xC0\\xAF"}, VisibleCase{"Surrogate", "\xED\xA0\x80", "\\xED\\xA0\\x80"},
        VisibleCase{"CutShort", "\xE2\x82", "\\xE2\\x82"}),
    [](const auto& test) { return test.param.name; });

TEST(Terminal, CutsByColumnsNotBytes) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
  EXPECT_EQ(columns("日本語"), 6U);
  EXPECT_EQ(cut("日本語", 4), "日…");
  EXPECT_EQ(columns("e\u0301"), 1U);
}

TEST(Terminal, WritesLinesAndJsonToDataAndTalkElsewhere) {
  Pipe out, err;
  {
    Terminal terminal({.out = out.writer(), .err = err.writer()});
    terminal.line("one");
    terminal.line(json_row());
    terminal.note("hint");
    terminal.error("wrong");
    terminal.speak_for("entry put");
    terminal.error("more so");
  }
  EXPECT_EQ(out.read(), "one\n{\"schema\":1}\n");
  EXPECT_EQ(err.read(), "hint\nfeedmill: wrong\nfeedmill: entry put: more so\n");
}

TEST(Terminal, TellsPeopleAndProgramsTheSameInTheirOwnWay) {
  const auto told = [](bool json) {
    Pipe out;
    {
      Terminal terminal({.json = json, .out = out.writer()});
      terminal.tell({{"url", "u"}, {"result", "added"}}, "added u");
      terminal.tell({{"feeds", 3}}, {{"feeds", "3: all well"}, {"hosts", "\x1B[2J"}}, 6);
      Columns table(terminal, {{"N", 3, true}, {"URL", 0}});
      table.heading();
      table.row({{"n", 1}, {"url", "u"}}, {"1", "u"});
    }
    return out.read();
  };
  EXPECT_EQ(told(false), "added u\nfeeds   3: all well\nhosts   \\x1B[2J\n  1  u\n");
  EXPECT_EQ(told(true),
            "{\"schema\":1,\"url\":\"u\",\"result\":\"added\"}\n{\"schema\":1,\"feeds\":3}\n"
            "{\"schema\":1,\"n\":1,\"url\":\"u\"}\n");
}

TEST(Terminal, IsSilentButForErrorsWhenQuiet) {
  Pipe out, err;
  Terminal terminal({.quiet = true, .out = out.writer(), .err = err.writer()});
  terminal.note("hint");
  terminal.error("wrong");
  EXPECT_EQ(err.read(), "feedmill: wrong\n");
}

TEST(Terminal, SaysWhenTheReaderHasGone) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe out;
  Terminal terminal({.out = out.writer()});
  out.close_reader();
  terminal.line("one");
  EXPECT_THROW(terminal.flush(), OutputClosed);
}

TEST(Terminal, KeepsColumnsWholeAwayFromATerminal) {
  Pipe out;
  Terminal terminal({.out = out.writer()});
  Columns table(terminal, {{"A", 4}, {"N", 3, true}, {"B", 0}});
  table.heading();
  table.row({"long name", "7", std::string(60, 'x')});
  table.row({"a", "12", "\x1B[2J"});
  terminal.flush();
  EXPECT_EQ(out.read(), "long name    7  " + std::string(60, 'x') + "\na      12  \\x1B[2J\n");
}

TEST(Terminal, WritesChosenColumnsInTheirOrder) {
  constexpr std::array<Columns::Column, 4> columns{
      {{"state", 6}, {"last_success", 0}, {"n", 3, true, 90}, {"link", 0, false, Columns::never}}};
  const auto written = [&](const Columns::Choice& choice) {
    Pipe out;
    {
      Terminal terminal({.out = out.writer()});
      Columns table(terminal, columns, choice);
      table.heading();
      table.row({"new", std::string(90, 'x'), "7", "l"});
    }
    return out.read();
  };
  const std::string wide(90, 'x');
  EXPECT_EQ(written({}), "new     " + wide + "    7\n");
  EXPECT_EQ(written({{}, true}), "STATE   LAST SUCCESS    N\nnew     " + wide + "    7\n");
  EXPECT_EQ(written({{"link", "last_success", "state"}, true}), "LINK  LAST SUCCESS  STATE\nl  " + wide + "  new\n");
  PseudoTerminal screen;
  Terminal terminal({.color = ColorMode::never, .out = screen.inner()});
  Columns table(terminal, columns, {});
  table.row({"new", "x", "7", "l"});
  EXPECT_EQ(screen.read("\r\n"), "new     x\r\n") << "40 columns are too few for the third";
}

TEST(Terminal, CutsColumnsToTheWidthOfATerminal) {
  PseudoTerminal screen;
  Terminal terminal({.color = ColorMode::never, .out = screen.inner()});
  Columns table(terminal, {{"A", 4}, {"B", 0}});
  table.heading();
  EXPECT_EQ(screen.read("\r\n"), "A     B\r\n");
  table.row({"long name", std::string(60, 'x')});
  EXPECT_EQ(screen.read("\r\n"), "lon…  " + std::string(33, 'x') + "…\r\n");
}

TEST(Terminal, CutsAUrlRatherThanTheColumnsAfterIt) {
  constexpr std::array<Columns::Column, 3> columns{{{"url", 0}, {"state", 8}, {"title", 0}}};
  PseudoTerminal screen;
  Terminal terminal({.color = ColorMode::never, .out = screen.inner()});
  Columns(terminal, columns, {{"url", "state"}}).row({std::string(60, 'u'), "healthy", "t"});
  EXPECT_EQ(screen.read("\r\n"), std::string(29, 'u') + "…  healthy\r\n");
  Columns(terminal, columns, {{"url", "title"}}).row({std::string(60, 'u'), "healthy", "its title"});
  EXPECT_EQ(screen.read("\r\n"), std::string(18, 'u') + "…  its title\r\n");
  Columns(terminal, columns, {{"state", "url"}}).row({"short", "new", "t"});
  EXPECT_EQ(screen.read("\r\n"), "new       short\r\n");
}

TEST(Terminal, PaintsOnlyWhereItMay) {
  Pipe pipe;
  PseudoTerminal screen;
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_EQ(Terminal({.out = pipe.writer()}).bold("x"), "x");
  EXPECT_EQ(Terminal({.color = ColorMode::always, .out = pipe.writer()}).bold("x"), "\x1B[1mx\x1B[0m");
  EXPECT_EQ(Terminal({.out = screen.inner()}).bold("x"), "\x1B[1mx\x1B[0m");
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(Terminal({.out = screen.inner()}).bold("x"), "x");
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(Terminal({.out = screen.inner()}).bold("x"), "x");
}

TEST(Terminal, ShowsABarOnlyOnATerminal) {
  Pipe err;
  {
    Terminal terminal({.err = err.writer()});
    Progress progress(terminal, "importing", 10);
    progress.reached(5);
  }
  EXPECT_EQ(err.read(), "");
  PseudoTerminal screen;
  Terminal terminal({.err = screen.inner()});
  {
    Progress progress(terminal, "importing", 10);
    progress.reached(5);
  }
  EXPECT_EQ(screen.read("5/10\r\x1B[K"), "\r\x1B[Kimporting [###############...............] 5/10\r\x1B[K");
}

}  // namespace
}  // namespace feedmill::terminal_test
