// The API of a running worker (OPERATIONS A1, A6).
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/temporary_directory.hpp"

namespace feedmill::test::api_test {
namespace {

namespace fs = std::filesystem;

const std::string token = "token-of-the-reader";

class ApiOfAWorker : public testing::Test {
 protected:
  ApiOfAWorker() { std::ofstream(home / "token") << token << "\n"; }
  std::string with_token() const {
    return "[api.token.reader]\nasks = true\nfile = \"" + (home / "token").string() + "\"\n";
  }
  void write(const std::string& text) { std::ofstream(home / "feedmill.toml") << text; }
  std::vector<std::string> arguments() const {
    return {"run", "--config", (home / "feedmill.toml").string(), "--listen", "127.0.0.1:0"};
  }
  static HttpAnswer call(const std::string& address, const std::string& method, const std::string& path,
                         const std::string& body = "", const std::string& prefer = "wait=10",
                         const std::string& shown = token) {
    return ask({method,
                "http://" + address + "/api/v1" + path,
                {{"Authorization", "Bearer " + shown}, {"Content-Type", "application/json"}, {"Prefer", prefer}},
                body});
  }

  World world;
  TemporaryDirectory home_directory;
  fs::path home = home_directory.path();
};

TEST_F(ApiOfAWorker, StartsWithTheFirstTokenAndSubscribesAndReads) {
  world.http.serve("/feed.xml", {.body = rss({{"a", "First"}})});
  const std::string url = world.http.url("/feed.xml");
  write("");
  Program worker(arguments(), world.environment);
  const std::string address = listening_at(worker);
  EXPECT_EQ(call(address, "GET", "/feeds").status, 404);
  write(with_token());
  worker.signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return call(address, "GET", "/feeds").status == 200; })) << worker.err();
  EXPECT_EQ(call(address, "POST", "/feeds", R"({"url":")" + url + R"(","channel":"anna/news"})").status, 201);
  EXPECT_TRUE(eventually([&] {
    return call(address, "GET", "/channel/entries?channel=anna/news").body.find("First") != std::string::npos;
  })) << worker.err();
  std::ofstream(home / "token") << "another-token-of-it\n";
  worker.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return call(address, "GET", "/feeds").status == 401; }));
  EXPECT_EQ(call(address, "GET", "/feeds", "", "", "another-token-of-it").status, 200);
  EXPECT_EQ(worker.err().find(token), std::string::npos);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(ApiOfAWorker, HasASeparateListenerIfConfigured) {
  write(with_token() + "[api]\nlisten = \"127.0.0.1:0\"\n");
  Program worker(arguments(), world.environment);
  const std::string beginning = "programs at http://";
  ASSERT_TRUE(eventually([&] { return worker.err().find(beginning) != std::string::npos; })) << worker.err();
  const std::string said = worker.err();
  const std::string rest = said.substr(said.find(beginning) + beginning.size());
  const std::string address = rest.substr(0, rest.find_first_not_of("0123456789.:"));
  EXPECT_EQ(call(address, "GET", "/feeds").status, 200);
  EXPECT_EQ(call(listening_at(worker), "GET", "/feeds").status, 404);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

TEST_F(ApiOfAWorker, WaitingCallsDoNotBlockProbes) {
  write(with_token());
  // Another worker holds the lock for requests and never comes back.
  world.redis_text({"SET", "lock:requests", "somebody", "EX", "100"});
  Program worker(arguments(), world.environment);
  const std::string address = listening_at(worker);
  std::vector<std::thread> clients;
  std::atomic<int> turned_away = 0;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back([&] {
      const int status = call(address, "DELETE", "/feed?url=https://example.org/", "", "wait=3").status;
      EXPECT_TRUE(status == 202 || status == 429 || status == 0) << status;  // 0: closed, its network's share is used
      if (status != 202) ++turned_away;
    });
  }
  // Eight calls hold slots, and up to four more wait.
  const auto asked = [&] { return std::stoi(world.redis_text({"XLEN", "stream:requests"})); };
  EXPECT_TRUE(eventually([&] { return asked() >= 8; })) << worker.err();
  EXPECT_TRUE(eventually([&] { return turned_away >= 26; })) << "they are of the probe's network, and had its places";
  EXPECT_LE(asked(), 12);
  for (int i = 0; i < 20; ++i) EXPECT_NE(get(address, "/livez").find("200 OK"), std::string::npos);
  for (std::thread& one : clients) one.join();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}

/// A worker is killed at a crash point during a call; the client repeats the call.
class CrashesInACall : public ApiOfAWorker, public testing::WithParamInterface<const char*> {
 protected:
  HttpAnswer ask_to(const std::string& verb, const std::string& address) const {
    return ask({"POST",
                "http://" + address + "/api/v1/feed/" + verb + "?url=https://example.org/",
                {{"Authorization", "Bearer " + token}, {"Idempotency-Key", verb + "-once"}}});
  }
  std::uint64_t answers() { return std::stoull(world.redis_text({"XLEN", "stream:signals"})); }
};

TEST_P(CrashesInACall, RepeatingItHasOneEffectAndTheSameAnswer) {  // OPERATIONS A2
  write(with_token());
  ASSERT_EQ(world.run({"add", "https://example.org/"}).exit, 0);
  auto dying = world.environment;
  dying["FEEDMILL_CRASH_AT"] = std::string(GetParam()) + ":1";
  const bool is_done = std::string(GetParam()) == "S18";
  {
    Program worker(arguments(), dying);
    const std::string address = listening_at(worker);
    EXPECT_EQ(ask_to("pause", address).status, 0) << "no answer came";
    EXPECT_EQ(worker.wait().exit, -SIGKILL);
  }
  EXPECT_EQ(world.redis_text({"HGET", "state:feed:https://example.org/", "state"}) == "paused", is_done);
  Program worker(arguments(), world.environment);
  const std::string address = listening_at(worker);
  const HttpAnswer again = ask_to("pause", address);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_NE(again.body.find("\"result\":\"paused\""), std::string::npos) << again.body;
  EXPECT_EQ(again.body.find("\"repeated\":true") != std::string::npos, is_done) << again.body;
  const std::uint64_t events = answers();
  EXPECT_EQ(ask_to("pause", address).status, 200);
  EXPECT_EQ(answers(), events) << "it is answered from memory";
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit, 0);
}
INSTANTIATE_TEST_SUITE_P(Points, CrashesInACall, testing::Values("S17", "S18"));

}  // namespace
}  // namespace feedmill::test::api_test
