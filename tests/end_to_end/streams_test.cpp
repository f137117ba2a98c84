// Verbs in adverse surroundings: readers that leave, closed streams, terminals that hang up, and Ctrl-C while a private
// server starts.
#include <fstream>
#include <sys/stat.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "tests/end_to_end/own_server_world.hpp"
#include "tests/end_to_end/program.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::test::streams_test {
namespace {

/// A named pipe that takes a program's stdout, with its reader.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& name) : name_(name) {
    if (mkfifo(name.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    end_ = UniqueFd(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  /// `limits` for Program: redirects its stdout into the pipe.
  std::string redirection() const { return "exec > '" + name_.string() + "'"; }
  /// Reads up to the first complete line, then closes the pipe, as head -1 does.
  std::string first_line_and_go() {
    std::string text;
    while (text.find('\n') == std::string::npos) {
      pollfd readable{end_.get(), POLLIN, 0};
      if (::poll(&readable, 1, 30'000) != 1) break;
      char block[256];
      const ssize_t got = ::read(end_.get(), block, sizeof block);
      if (got > 0) text.append(block, static_cast<std::size_t>(got));
    }
    end_.reset();
    return text;
  }

 private:
  std::filesystem::path name_;
  UniqueFd end_;
};

class Streams : public testing::Test {
 protected:
  std::string add(const std::string& path, Response response) {
    world.http.serve(path, std::move(response));
    EXPECT_EQ(world.run({"add", world.http.url(path)}).exit, 0);
    return world.http.url(path);
  }
  /// Releases the server's responses that wait for one more request.
  void let_go() {
    world.http.serve("/go", {.end = Response::End::close});
    get("127.0.0.1:" + std::to_string(world.http.port()), "/go");
  }
  FeedRecord record(const std::string& url) { return *(*Feeds(world.store).records(std::vector{url}))[0]; }

  World world;
};

/// trace | head: a refresh that has begun is finished, even without a reader.
TEST_F(Streams, ATraceWithoutAReaderFinishesItsRefresh) {
  const std::string url = add("/feed.xml", {.body = rss({{"a", "First"}}), .hold_until = 2});
  Reader reader(world.redis.directory() / "pipe");
  Program trace({"trace", url}, world.environment, reader.redirection());
  EXPECT_NE(reader.first_line_and_go(), "");
  world.http.wait_for_requests(1);
  let_go();
  const Finished done = trace.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(record(url).state.last.outcome, "updated");
  EXPECT_EQ(record(url).claim, "");
  EXPECT_EQ(world.count("post_created"), 1U);
}

/// A full disk is reported as such, not as a bug.
TEST_F(Streams, ReportsAFullDisk) {
  add("/feed.xml", {.body = rss({{"a", "First"}})});
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"list"}, {"list", "--json"}, {"export"}, {"doctor"}, {"config", "show"}, {"man"}}) {
    Program full(verb, world.environment, "exec > /dev/full");
    const Finished done = full.wait();
    EXPECT_EQ(done.exit, 75) << verb.front();
    EXPECT_EQ(done.err.find("bug"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("feedmill: cannot write to standard output: No space left on device\n"), std::string::npos)
        << done.err;
  }
}

/// trace --live | head: the follower ends even if nothing else happens, and removes its mark.
TEST_F(Streams, AFollowerWithoutAReaderEndsAndRemovesItsMark) {
  const std::string url = add("/feed.xml", {.body = rss({{"a", "First"}})});
  Reader reader(world.redis.directory() / "pipe");
  Program follower({"trace", url, "--live", "--for", "1h"}, world.environment, reader.redirection());
  ASSERT_TRUE(eventually([&] {
    return world.redis_text({"HGET", "state:feed:" + url, "trace_until"}) != "(nil)";
  })) << follower.err();
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  EXPECT_NE(reader.first_line_and_go(), "");
  EXPECT_EQ(follower.wait().exit, 0);
  EXPECT_EQ(world.redis_text({"HGET", "state:feed:" + url, "trace_until"}), "(nil)");
}

TEST_F(Streams, APassUnderNohupOutlivesItsTerminal) {
  const std::string url = add("/feed.xml", {.body = rss({{"a", "First"}}), .hold_until = 2});
  Program pass({"run", "--once"}, world.environment, "trap '' HUP");  // as nohup does
  world.http.wait_for_requests(1);
  pass.signal(SIGHUP);
  let_go();
  const Finished done = pass.wait();
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.err.find("event=drain"), std::string::npos) << done.err;
  EXPECT_EQ(record(url).state.last.outcome, "updated");
}

TEST_F(Streams, APassEndsWithItsTerminal) {
  world.environment["FEEDMILL_DRAIN_TIMEOUT"] = "0ms";
  const std::string url = add("/feed.xml", {.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  Program pass({"run", "--once"}, world.environment);
  world.http.wait_for_requests(1);
  pass.signal(SIGHUP);
  EXPECT_EQ(pass.wait().exit, 0);
  EXPECT_EQ(record(url).claim, "") << "given back";
}

/// A read that waits for signals must not exceed the command timeout.
TEST_F(Streams, TailWaitsNoLongerThanACommandMay) {
  const std::string url = add("/feed.xml", {.body = rss({{"a", "First"}})});
  Program tail({"tail", "--from", "0"}, world.with({{"FEEDMILL_REDIS_TIMEOUT", is_sanitized ? "600ms" : "150ms"}}));
  ASSERT_TRUE(eventually([&] {
    const std::string stats = world.redis_text({"INFO", "commandstats"});
    const std::size_t at = stats.find("cmdstat_xread:calls=");
    return at != std::string::npos && std::stoi(stats.substr(at + 20)) >= 4;
  })) << tail.err();
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  ASSERT_TRUE(eventually([&] { return tail.out().find("post_created") != std::string::npos; })) << tail.err();
  EXPECT_EQ(tail.err(), "") << "Redis was there all the time";
  tail.signal(SIGINT);
  EXPECT_EQ(tail.wait().exit, 130);
}

TEST_F(Streams, TailReportsTrimmedEvents) {
  add("/feed.xml", {.body = rss({{"c", "Third"}, {"b", "Second"}, {"a", "First"}})});
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  const auto events = world.signals();
  ASSERT_EQ(events.size(), 4U);
  world.redis_text({"XTRIM", "stream:signals", "MAXLEN", "2"});
  const Finished late = world.run({"tail", "--from", events[0].id});
  EXPECT_EQ(late.exit, 65);
  EXPECT_EQ(late.out, "");
  EXPECT_NE(late.err.find("the oldest available is " + events[2].id), std::string::npos) << late.err;
  EXPECT_EQ(world.run({"tail", "--from", "0-0"}).exit, 65) << "who began before the first has missed some";
  Program in_time({"tail", "--from", events[1].id}, world.environment);
  EXPECT_TRUE(eventually([&] { return in_time.out().find("feed_created") != std::string::npos; })) << in_time.err();
}

/// The descriptor of a closed stream would be reused for the next connection: output would be written to Redis.
TEST_F(Streams, AClosedStreamDiscardsOutputAndNothingElse) {
  const std::string url = add("/feed.xml", {.body = rss({{"a", "First"}})});
  ASSERT_EQ(world.run({"run", "--once"}).exit, 0);
  for (const char* const closed : {"exec >&-", "exec 2>&-", "exec <&-", "exec <&- >&- 2>&-"}) {
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"list"}, {"show", url, "--json"}, {"refresh", url, "--ignore-floor"}, {"remove", "nonsense"}}) {
      const Finished done = Program(verb, world.environment, closed).wait();
      EXPECT_EQ(done.exit, verb.front() == "remove" ? 65 : 0) << closed << " " << verb.front() << ": " << done.err;
    }
  }
  EXPECT_EQ(world.redis_text({"ZCARD", url + ":sort"}), "1");
  EXPECT_EQ(world.redis_text({"INFO", "errorstats"}).find("errorstat_ERR"), std::string::npos)
      << "Redis has heard nothing that is no command";
}

class StartingOwnServer : public testing::TestWithParam<std::vector<std::string>> {};

/// Ctrl-C while a private server starts and never becomes ready: the verb ends, and so does the server.
TEST_P(StartingOwnServer, IsGivenUpAtCtrlC) {
  OwnServerWorld it;
  std::filesystem::create_directories(it.home / "bin");
  const auto program = it.home / "bin" / "valkey-server", begun = it.home / "begun";
  std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = --version ] && exec redis-server --version\n: > '" << begun.string()
                         << "'\nexec sleep 600\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  it.environment["PATH"] = program.parent_path().string() + ":" + it.environment["PATH"];
  Program verb(GetParam(), it.environment);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(begun); })) << verb.err();
  verb.signal(SIGINT);
  const Finished done = verb.wait();
  EXPECT_EQ(done.exit, GetParam().front() == "run" ? 0 : 130) << done.err;
  EXPECT_EQ(it.left_behind(), "");
}

INSTANTIATE_TEST_SUITE_P(Verbs, StartingOwnServer,
                         testing::Values(std::vector<std::string>{"list"}, std::vector<std::string>{"doctor"},
                                         std::vector<std::string>{"run"}),
                         [](const auto& test) { return test.param.front(); });

}  // namespace
}  // namespace feedmill::test::streams_test
