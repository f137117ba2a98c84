// The outcome of everything that a hostile server may do (tests/support/hostile_server.hpp), one row each; prints a
// table of the outcomes.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/support/await.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/hostile_server.hpp"
#include "tests/support/sanitized.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"

namespace feedmill::hostile_test {
namespace {

namespace asio = boost::asio;
using test::Behaviour;
using test::HttpServer;
using test::Response;

constexpr std::uint64_t body_limit = 16 << 20, header_limit = 128 << 10, one_buffer = 32 << 10;

struct Ending {
  std::string reason;  ///< "" for an answer
  int status = 0;
  std::uint64_t bytes = 0;
  std::string detail;
};

Ending ending_of(const FetchResult& result) {
  if (const auto* error = std::get_if<FetchError>(&result)) {
    return {std::string(to_string(error->reason)), error->status, error->wire_bytes, error->detail};
  }
  const auto& response = std::get<FetchResponse>(result);
  return {"", response.status, response.wire_bytes, ""};
}

class HostileServerTest : public testing::Test {
 protected:
  static FetchOptions options() {
    FetchOptions wanted;
    wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.1:1024-65535"}, {}, {});
    wanted.connect_timeout = std::chrono::seconds(10);
    return wanted;
  }
  FetchRequest request(const std::string& url) { return FetchRequest{.feed_url = url, .url = url, .validators = {}}; }

  void check(const Behaviour& behaviour, const Ending& ending) {
    std::printf("| %-9s | %-36s | %-16s | %3d | %9llu |\n", behaviour.group.c_str(), behaviour.name.c_str(),
                ending.reason.empty() ? "answer" : ending.reason.c_str(), ending.status,
                static_cast<unsigned long long>(ending.bytes));
    EXPECT_EQ(ending.reason, behaviour.expected) << behaviour.group << " " << behaviour.name << ": " << ending.detail;
    EXPECT_LE(ending.bytes, body_limit + header_limit + one_buffer) << behaviour.name;
  }

  /// Serves all behaviours and fetches each concurrently.
  void run(const std::vector<Behaviour>& behaviours, const FetchOptions& wanted) {
    test::serve(server, behaviours);
    Fetcher by(context.get_executor(), wanted);
    std::vector<Ending> endings(behaviours.size());
    std::size_t ended = 0;
    for (std::size_t i = 0; i < behaviours.size(); ++i) {
      asio::co_spawn(context, by.fetch(request(server.url("/" + behaviours[i].name))),
                     [&, i](std::exception_ptr thrown, const FetchResult& result) {
                       EXPECT_FALSE(thrown) << behaviours[i].name;
                       endings[i] = ending_of(result);
                       ++ended;
                     });
    }
    context.restart();
    while (ended < behaviours.size()) context.run_one();
    for (std::size_t i = 0; i < behaviours.size(); ++i) check(behaviours[i], endings[i]);
  }

  HttpServer server;
  asio::io_context context;
};

// SECURITY T11
TEST_F(HostileServerTest, MalformedAnswers) {
  EXPECT_GE(test::malformed_answers().size(), 60u);
  run(test::malformed_answers(), options());
}

TEST_F(HostileServerTest, BrokenConnections) {
  run(test::broken_answers(), options());
}

// HTTP §10
TEST_F(HostileServerTest, EndlessAnswers) {
  EXPECT_GE(test::endless_answers().size(), 15u);
  run(test::endless_answers(), options());
}

// SECURITY T10: the stall rule and the wall clock, whatever the rate.
TEST_F(HostileServerTest, SlowAnswers) {
  FetchOptions hasty = options();
  hasty.wall = std::chrono::seconds(4);
  hasty.stall_time = std::chrono::seconds(1);
  run(test::slow_answers(), hasty);
}

// SECURITY T10: a handshake that never completes.
TEST_F(HostileServerTest, SilentHandshake) {
  FetchOptions hasty = options();
  hasty.connect_timeout = std::chrono::milliseconds(200);
  Fetcher by(context.get_executor(), hasty);
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port()) + "/";
  EXPECT_EQ(ending_of(test::await(context, by.fetch(request(url)))).reason, "connect.timeout");
}

// SECURITY E4, HTTP §5
TEST_F(HostileServerTest, Redirects) {
  HttpServer elsewhere;
  elsewhere.serve("/end", Response{.body = "end"});
  run(test::redirects("http://127.0.0.1", elsewhere.url("")), options());
  for (const test::ServedRequest& asked : elsewhere.requests()) EXPECT_EQ(asked.target, "/end");
}

std::uint64_t status_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1));
  }
  return 0;
}

// SECURITY T8: through the fetch and the decoding. A bomb may cost 64 MiB at most.
TEST_F(HostileServerTest, Bombs) {
  const std::vector<Behaviour> bombs = test::bombs();
  EXPECT_GE(bombs.size(), 20u);
  test::serve(server, bombs);
  Fetcher by(context.get_executor(), options());
  for (const Behaviour& bomb : bombs) {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
    const std::uint64_t before = status_kib("VmRSS");
    FetchResult result = test::await(context, by.fetch(request(server.url("/" + bomb.name))));
    Ending ending = ending_of(result);
    std::uint64_t decoded = 0;
    if (ending.reason.empty()) {
      const Reading reading = read(result, FeedState(), ReadingOptions());
      if (const auto* unreadable = std::get_if<Unreadable>(&reading)) {
        ending.reason = to_string(unreadable->reason);
        ending.detail = unreadable->detail;
        decoded = unreadable->print.body_bytes;
      }
    }
    check(bomb, ending);
    EXPECT_LE(decoded, body_limit) << bomb.name;
    if (test::is_sanitized) continue;
    EXPECT_LE(status_kib("VmHWM") - std::min(before, status_kib("VmHWM")), 64u << 10) << bomb.name;
  }
}

// HTTP P20: falls back to HTTP/1.1 when streams break.
TEST_F(HostileServerTest, BrokenStreams) {
  using Server = test::HostileHttp2Server;
  const test::Authority authority;
  FetchOptions wanted = options();
  wanted.ca_bundle = authority.file();
  const std::pair<const char*, Server::Habit> habits[] = {
      {"resets_the_stream", Server::Habit::reset_stream},  {"goes_away", Server::Habit::go_away},
      {"resets_in_the_body", Server::Habit::half_a_body},  {"sends_no_frames", Server::Habit::no_frames},
      {"oversized_frame", Server::Habit::oversized_frame}, {"closes_after_headers", Server::Habit::close}};
  for (const auto& [name, habit] : habits) {
    Server hostile(authority.issue({.names = {"IP:127.0.0.1"}}), habit);
    Fetcher by(context.get_executor(), wanted);
    const FetchResult result =
        test::await(context, by.fetch(request("https://127.0.0.1:" + std::to_string(hostile.port()) + "/feed")));
    // A connection that closes after the header is not a stream error, so there is no retry.
    const bool retried = habit != Server::Habit::close;
    check(Behaviour{"http2", name, {}, retried ? "" : "http.truncated"}, ending_of(result));
    EXPECT_GE(hostile.http2_connections(), 1u);
    EXPECT_LE(hostile.http2_connections(), 2u) << "asked again and again";
  }
}

// HTTP R4, P16: cookies and secrets of one server or feed do not reach another.
TEST_F(HostileServerTest, SecretsStayWithTheirOrigin) {
  HttpServer other;
  const std::string secret = "canary-7f3a";
  other.serve_rest([&](const test::ServedRequest&) {
    return Response{.status = 302,
                    .headers = {{"Location", server.url("/back")}, {"Set-Cookie", "theirs=" + secret + "; Path=/"}}};
  });
  server.serve("/start", Response{.status = 307,
                                  .headers = {{"Location", other.url("/trap?x=1")},
                                              {"Set-Cookie", "ours=" + secret + "; Domain=127.0.0.1; Path=/"},
                                              {"WWW-Authenticate", "Basic realm=\"trap\""}}});
  server.serve("/back",
               Response{.status = 401,
                        .headers = {{"WWW-Authenticate", "Basic realm=\"trap\""}, {"Set-Cookie", "late=" + secret}}});
  Fetcher by(context.get_executor(), options());
  FetchRequest asked = request(server.url("/start"));
  asked.validators = {"\"" + secret + "\"", "", server.url("/start")};
  EXPECT_EQ(ending_of(test::await(context, by.fetch(asked))).status, 401);
  for (const test::ServedRequest& seen : other.requests()) {
    EXPECT_EQ(seen.head.find(secret), seen.head.npos) << seen.head;
    for (const char* name : {"Cookie", "Authorization", "Referer", "If-None-Match"}) EXPECT_EQ(seen.header(name), "");
  }
  const auto own = server.requests();
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[1].header("Cookie"), "ours=" + secret);  // back at its own server, without the other's cookie
  EXPECT_EQ(own[1].header("Authorization"), "");

  EXPECT_EQ(ending_of(test::await(context, by.fetch(request(server.url("/back"))))).status, 401);
  EXPECT_EQ(server.requests().back().header("Cookie"), "");  // the chain has ended
}

}  // namespace
}  // namespace feedmill::hostile_test
