// No call that may block is made on a loop's thread (SECURITY E11).
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace feedmill::test::blocking_test {
namespace {

namespace fs = std::filesystem;

/// Runs Python code under the guard, on a loop thread or not; returns the signal that ended it, 0 if none.
int signal_of(bool loop, const std::string& code) {
  const std::string all =
      "import os, select, socket, sys\n" + std::string(loop ? "select.epoll().poll(0)\n" : "") + code;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LD_PRELOAD", FEEDMILL_LOOP_GUARD, 1);
    ::setenv("LOOP_GUARD_NAMED", "named-outside", 1);
    ::execlp("python3", "python3", "-c", all.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << code;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

class Blocking : public testing::Test {
 protected:
  Blocking() {
    fifo = home / "fifo";
    named = home / "named-outside";
    EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::ofstream(named) << "x";
    std::ofstream(home / "plain") << "x";
  }

  TemporaryDirectory home_directory;
  fs::path home = home_directory.path(), fifo, named;
};

/// The guard fires on blocking calls, so that the other test proves something.
TEST_F(Blocking, TheGuardFires) {
  const std::string nonblocking = "os.open('" + fifo.string() + "', os.O_RDONLY | os.O_NONBLOCK)\n";
  const std::string open_named = "open('" + named.string() + "')\n", lookup = "socket.getaddrinfo('127.0.0.1', 80)\n";
  const std::string read_pipe = "r, w = os.pipe()\nos.write(w, b'x')\nos.read(r, 1)\n";
  for (const std::string& code : {nonblocking, open_named, lookup, read_pipe}) {
    EXPECT_EQ(signal_of(true, code), SIGABRT) << code;
    EXPECT_EQ(signal_of(false, code), 0) << code;
  }
  EXPECT_EQ(signal_of(true, "open('" + (home / "plain").string() + "').read()\nopen('/dev/null')\n"), 0);
}

TEST_F(Blocking, CallsNeverRunOnALoopThread) {
  World world;
  world.environment["LD_PRELOAD"] = FEEDMILL_LOOP_GUARD;
  world.environment["LOOP_GUARD_NAMED"] = "named-outside";
  world.http.serve("/feed.xml", {.body = "<!DOCTYPE rss [<!ENTITY e SYSTEM 'file://" + named.string() +
                                         "'>]><rss version='2.0' xml:base='file://" + named.string() +
                                         "'><channel><title>&e;</title><item><guid>1</guid><link>file://" +
                                         fifo.string() + "</link></item></channel></rss>"});
  const std::string url = world.http.url("/feed.xml");
  // The stored ca_file setting names a FIFO, which never yields data: the fetch fails before it reaches the TLS server.
  const std::string secure = "https://" + url.substr(std::string("http://").size()) + "?secure";
  ASSERT_EQ(world.run({"add", secure}).exit, 0);
  world.redis_text({"HSET", "state:feed:" + secure, "settings", "{\"ca_file\":\"" + fifo.string() + "\"}"});
  world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", url});
  for (const fs::path& file : {fifo, named}) {
    world.redis_text({"XADD", "stream:requests", "*", "op", "set", "url", url, "set.ca_file", file.string()});
    world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", "file://" + file.string()});
  }
  world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", "http://name.invalid/feed.xml"});
  world.redis_text({"XADD", "stream:requests", "*", "op", "add", "url", "http://page.invalid/", "page", "yes"});
  Program worker({"run"}, world.environment);
  const auto logged = [&](const char* text) { return worker.err().find(text) != std::string::npos; };
  EXPECT_TRUE(eventually([&] {
    return world.redis_text({"HGET", "Feed:" + url, "format"}) == "rss20";
  })) << worker.err();
  EXPECT_TRUE(eventually([&] { return logged("reason=tls.handshake") && logged("it is not a regular file"); }))
      << worker.err();
  EXPECT_TRUE(eventually([&] { return logged("reason=dns."); })) << worker.err();
  EXPECT_TRUE(eventually([&] { return world.count("request_failed") == 5; })) << world.count("request_failed");
  worker.signal(SIGTERM);
  const Finished ended = worker.wait();
  EXPECT_EQ(ended.exit, 0) << ended.err;
}

}  // namespace
}  // namespace feedmill::test::blocking_test
