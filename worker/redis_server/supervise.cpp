// Supervision of EmbeddedRedis: restarts, and the server's log.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>

#include "worker/redis_server/private_server.hpp"

namespace feedmill {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

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
