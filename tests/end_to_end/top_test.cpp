// `feedmill top` against a running worker, on a pseudo-terminal and without a terminal.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <utility>

#include <boost/json.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <spawn.h>
#include <termios.h>
#include <unistd.h>

#include "tests/end_to_end/program.hpp"

namespace feedmill::test::top_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* entered = "\x1B[?1049h\x1B[?25l";
constexpr const char* left = "\x1B[?25h\x1B[?1049l";

/// The program on its own terminal of 80 × 50. Killed on destruction.
class OnTerminal {
 public:
  OnTerminal(std::vector<std::string> words, const Environment& environment) {
    resize(80, 50, false);
    if (openpty(&outer_, &inner_, nullptr, nullptr, &size_) != 0) throw std::runtime_error("no pseudo-terminal");
    fcntl(outer_, F_SETFL, O_NONBLOCK);
    tcgetattr(inner_, &before_);
    words.insert(words.begin(), FEEDMILL_PROGRAM);
    std::vector<std::string> settings;
    for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& setting : settings) envp.push_back(setting.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int stream : {0, 1, 2}) posix_spawn_file_actions_adddup2(&files, inner_, stream);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_t attributes;  // its own process group: Ctrl-Z has no effect in ours, which may be orphaned
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawn(&pid_, argv.front(), &files, &attributes, argv.data(), envp.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("cannot start " FEEDMILL_PROGRAM);
  }
  ~OnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    hang_up();
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  /// Everything that it has written so far.
  const std::string& text() {
    std::array<char, 4096> block;
    for (ssize_t got; outer_ >= 0 && (got = ::read(outer_, block.data(), block.size())) > 0;)
      text_.append(block.data(), static_cast<std::size_t>(got));
    return text_;
  }
  bool shows(const std::string& words) {
    return eventually([&] { return text().find(words) != std::string::npos; });
  }
  /// Discards the output so far.
  void forget() {
    text();
    text_.clear();
  }
  void type(const std::string& keys) { EXPECT_EQ(::write(outer_, keys.data(), keys.size()), std::ssize(keys)); }
  void signal(int number) const { ::kill(pid_, number); }
  void resize(unsigned short columns, unsigned short rows, bool tell = true) {
    size_ = {};
    size_.ws_col = columns;
    size_.ws_row = rows;
    if (tell) ioctl(outer_, TIOCSWINSZ, &size_);
  }
  void hang_up() {
    for (int* const end : {&inner_, &outer_})
      if (*end >= 0) ::close(std::exchange(*end, -1));
  }
  bool is_stopped() const {
    siginfo_t state{};
    return waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
  }
  /// Its exit code, or -signal; reads its output while waiting, so that it never blocks on us.
  int wait() {
    int status = 0;
    const bool ended = eventually([&] {
      text();
      return waitpid(pid_, &status, WNOHANG) == pid_;
    });
    if (!ended) return -1000;
    pid_ = -1;
    text();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  /// Whether the terminal's settings and screen are restored.
  bool is_restored() {
    termios now{};
    tcgetattr(inner_, &now);
    const std::size_t in = text().rfind(entered), out = text().rfind(left);
    return now.c_lflag == before_.c_lflag && in != std::string::npos && out != std::string::npos && in < out;
  }

 private:
  int outer_ = -1, inner_ = -1;
  pid_t pid_ = -1;
  winsize size_{};
  termios before_{};
  std::string text_;
};

class Top : public testing::Test {
 protected:
  Top() {
    world.http.serve("/feed.xml", Response{.body = rss({{"a", "First"}, {"b", "Second"}})});
    world.environment["TERM"] = "xterm";
  }

  /// Starts a worker that has fetched its feed, and points verbs to its listener.
  std::unique_ptr<Program> start_worker(Environment more = {}) {
    EXPECT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);
    more["FEEDMILL_SCHEDULE_FLOOR"] = more["FEEDMILL_SCHEDULE_CEILING"] = "1h";
    auto worker =
        std::make_unique<Program>(std::vector<std::string>{"run", "--listen", "127.0.0.1:0"}, world.with(more));
    at = listening_at(*worker);
    EXPECT_TRUE(eventually([&] { return world.count("post_created") == 2; })) << worker->err();
    world.environment["FEEDMILL_ADMIN_LISTEN"] = at;
    return worker;
  }

  World world;
  std::string at;
};

TEST_F(Top, PrintsOneFrameAwayFromATerminal) {
  const auto worker = start_worker();
  Finished shown;
  ASSERT_TRUE(eventually([&] {
    shown = world.run({"top"});
    return shown.out.find("feeds      1: 1 healthy") != std::string::npos &&
           shown.out.find("127.0.0.1 ") != std::string::npos;
  })) << shown.out
      << shown.err;
  EXPECT_EQ(shown.exit, 0) << shown.err;
  for (const char* const words : {"feedmill ", "ready: ", "rates            now    10 min       1 h"})
    EXPECT_THAT(shown.out, HasSubstr(words));
  EXPECT_THAT(shown.out, Not(HasSubstr("\x1B")));
  EXPECT_EQ(shown.err, "");
  EXPECT_EQ(world.run({"top", "--once"}).exit, 0);
}

TEST_F(Top, GivesTheStatusAsALineOfJson) {
  const auto worker = start_worker();
  Finished once;
  json::value status;
  ASSERT_TRUE(eventually([&] {
    once = world.run({"top", "--json"});
    status = json::parse(once.out);
    return status.at("worker").at("since_start").at("entries_created").to_number<int>() == 2;
  })) << once.err;
  EXPECT_EQ(once.exit, 0);
  EXPECT_EQ(std::ranges::count(once.out, '\n'), 1);
  EXPECT_EQ(once.out.find("{\"schema\":1,"), 0U);
  EXPECT_GT(status.at("worker").at("since_start").at("seconds").to_number<double>(), 0);
  EXPECT_TRUE(status.at("store").at("websub").is_object());

  Program lines({"top", "--json", "--interval", "500ms"}, world.environment);
  ASSERT_TRUE(eventually([&] { return std::ranges::count(lines.out(), '\n') >= 3; })) << lines.err() << worker->err();
  lines.signal(SIGINT);
  const Finished ended = lines.wait();
  EXPECT_EQ(ended.exit, 130);
  double before = 0;
  for (std::size_t from = 0; from < ended.out.size(); from = ended.out.find('\n', from) + 1) {
    const json::value line = json::parse(ended.out.substr(from, ended.out.find('\n', from) - from));
    const double seconds = line.at("worker").at("since_start").at("seconds").to_number<double>();
    EXPECT_GE(seconds, before);
    before = seconds;
  }
}

TEST_F(Top, ReportsThatNoWorkerAnswers) {
  EXPECT_EQ(world.run({"top"}).exit, 78) << "admin.listen is off";
  const std::uint16_t port = HttpServer().port();  // free a moment ago
  const std::string address = "127.0.0.1:" + std::to_string(port);
  world.environment["FEEDMILL_ADMIN_LISTEN"] = address;
  const Finished nobody = world.run({"top"});
  EXPECT_EQ(nobody.exit, 1);
  EXPECT_EQ(nobody.out, "");
  EXPECT_THAT(nobody.err, HasSubstr("no answer on " + address));
  EXPECT_THAT(nobody.err, HasSubstr("is feedmill run running?"));
  OnTerminal live({"top"}, world.environment);
  EXPECT_EQ(live.wait(), 1);
  EXPECT_THAT(live.text(), Not(HasSubstr("\x1B[?1049h"))) << "the screen was left alone";
}

TEST_F(Top, SendsTheTokenAndNamesTheOneExpected) {
  const std::filesystem::path file = world.redis.directory() / "token";
  std::ofstream(file) << "a-token-of-our-own\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const auto worker = start_worker({{"FEEDMILL_ADMIN_TOKEN_FILE", file.string()}});
  const Finished refused = world.run({"top"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("admin.token_file"));
  world.environment["FEEDMILL_ADMIN_TOKEN_FILE"] = file.string();
  const Finished shown = world.run({"top"});
  EXPECT_EQ(shown.exit, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("refreshes"));
}

TEST_F(Top, ReportsAServerWithoutAStatus) {
  for (const char* const body : {"<html>", "[]", "{}", ""}) {
    world.http.serve("/status.json", Response{.body = body, .end = Response::End::close});
    world.environment["FEEDMILL_ADMIN_LISTEN"] = "127.0.0.1:" + std::to_string(world.http.port());
    const Finished other = world.run({"top"});
    EXPECT_EQ(other.exit, 1);
    EXPECT_THAT(other.err, HasSubstr("returns no status (200)")) << body;
  }
}

TEST_F(Top, LivesOnATerminalUntilQ) {
  const auto worker = start_worker();
  OnTerminal top({"top", "--interval", "500ms"}, world.environment);
  ASSERT_TRUE(top.shows(entered));
  ASSERT_TRUE(top.shows("rates"));
  ASSERT_TRUE(top.shows("last ")) << "rates of the moment, from the second answer on";
  ASSERT_TRUE(top.shows("q quits; updates every 500ms"));
  top.forget();
  top.resize(40, 12);
  ASSERT_TRUE(top.shows("lines m")) << "drawn anew, cut to the new size";
  top.type("x");  // not one of our keys
  top.type("q");
  EXPECT_EQ(top.wait(), 0);
  EXPECT_THAT(top.text(), HasSubstr(left));
}

TEST_F(Top, GivesTheTerminalBackHoweverItEnds) {
  const auto worker = start_worker();
  const auto ends_with = [&](const std::function<void(OnTerminal&)>& end) {
    OnTerminal top({"top"}, world.environment);
    EXPECT_TRUE(top.shows("q quits"));
    end(top);
    const int code = top.wait();
    EXPECT_TRUE(top.is_restored()) << top.text();
    return code;
  };
  EXPECT_EQ(ends_with([](OnTerminal& top) { top.type("q"); }), 0);
  EXPECT_EQ(ends_with([](OnTerminal& top) { top.type("\x03"); }), 130);
  EXPECT_EQ(ends_with([](OnTerminal& top) { top.signal(SIGINT); }), 130);
  EXPECT_EQ(ends_with([](OnTerminal& top) { top.signal(SIGTERM); }), 130);

  OnTerminal closed({"top"}, world.environment);
  ASSERT_TRUE(closed.shows("q quits"));
  closed.hang_up();
  EXPECT_EQ(closed.wait(), 0);
}

TEST_F(Top, StopsOnCtrlZAndResumes) {
  const auto worker = start_worker();
  OnTerminal top({"top"}, world.environment);
  ASSERT_TRUE(top.shows("q quits"));
  top.type("\x1A");
  ASSERT_TRUE(eventually([&] { return top.is_stopped(); }));
  EXPECT_TRUE(top.is_restored());
  top.forget();
  top.signal(SIGCONT);
  EXPECT_TRUE(top.shows("q quits"));
  top.type("q");
  EXPECT_EQ(top.wait(), 0);
}

TEST_F(Top, WaitsForAWorkerThatWentAway) {
  auto worker = start_worker();
  OnTerminal top({"top", "--interval", "500ms"}, world.environment);
  ASSERT_TRUE(top.shows("q quits"));
  worker.reset();
  ASSERT_TRUE(top.shows("NO ANSWER, last known: no answer on " + at));
  const Program next({"run", "--listen", at}, world.environment);
  ASSERT_TRUE(eventually([&] {
    top.forget();
    return eventually([&] { return top.text().find("q quits") != std::string::npos; }) &&
           top.text().find("NO ANSWER") == std::string::npos;
  })) << next.err();
  top.type("q");
  EXPECT_EQ(top.wait(), 0);
}

TEST_F(Top, NeedsATerminalThatCanBeDrawnOn) {
  const auto worker = start_worker();
  world.environment["TERM"] = "dumb";
  OnTerminal dumb({"top"}, world.environment);
  EXPECT_EQ(dumb.wait(), 0);
  EXPECT_THAT(dumb.text(), HasSubstr("refreshes"));
  EXPECT_THAT(dumb.text(), Not(HasSubstr("\x1B")));
  world.environment["TERM"] = "xterm";
  world.environment["NO_COLOR"] = "1";
  OnTerminal plain({"top"}, world.environment);
  ASSERT_TRUE(plain.shows("q quits"));
  EXPECT_THAT(plain.text(), Not(HasSubstr("\x1B[0m")));
  plain.type("q");
  EXPECT_EQ(plain.wait(), 0);
}

}  // namespace
}  // namespace feedmill::test::top_test
