#include "worker/http/http_client.hpp"

#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "tests/support/await.hpp"
#include "tests/support/http_server.hpp"
#include "worker/http/http_shared.hpp"
#include "worker/http/http_transfer.hpp"

namespace feedmill::http_client_test {
namespace {

namespace asio = boost::asio;
using test::HttpServer;
using test::Response;
using test::ServedRequest;
using End = Response::End;

HttpClientOptions on_loopback() {
  HttpClientOptions options;
  options.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  return options;
}

class HttpClientTest : public testing::Test {
 protected:
  HttpRequest request(const std::string& path) {
    HttpRequest asked;
    asked.url = path.starts_with('/') ? server.url(path) : path;
    asked.user_agent = "test";
    asked.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    return asked;
  }

  HttpResult get(HttpRequest asked) { return test::await(context, client.get(std::move(asked))); }

  HttpResponse answer(HttpResult result) {
    if (const auto* failure = std::get_if<HttpFailure>(&result)) {
      ADD_FAILURE() << "no answer: " << failure->detail;
      return {};
    }
    return std::get<HttpResponse>(std::move(result));
  }
  HttpResponse answer(const std::string& path) { return answer(get(request(path))); }

  HttpFailure failure(HttpResult result) {
    if (const auto* response = std::get_if<HttpResponse>(&result)) {
      ADD_FAILURE() << "an answer: " << response->status;
      return {};
    }
    return std::get<HttpFailure>(std::move(result));
  }
  HttpFailure failure(const std::string& path) { return failure(get(request(path))); }
  HttpFailure failure_of(Response response) {
    server.serve("/bad", std::move(response));
    return failure("/bad");
  }

  HttpServer server;
  asio::io_context context;
  HttpClient client{context.get_executor(), on_loopback()};
};

TEST_F(HttpClientTest, LeavesContentCodingsOn) {
  server.serve("/", Response{.headers = {{"Content-Encoding", "gzip"}}, .body = "not gzip at all"});
  EXPECT_EQ(answer("/").body, "not gzip at all");
}

TEST_F(HttpClientTest, ReadsChunksAndIgnoresTrailers) {
  server.serve("/", Response{.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n"
                                    "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nB: 2\r\n\r\n"});
  const HttpResponse response = answer("/");
  EXPECT_EQ(response.body, "abcde");
  EXPECT_EQ(field(response.headers, "a"), "1");
  EXPECT_EQ(field(response.headers, "b"), "");
}

TEST_F(HttpClientTest, ForgetsInterimAnswers) {
  server.serve("/", Response{.raw = "HTTP/1.1 103 Early Hints\r\nA: interim\r\n\r\n"
                                    "HTTP/1.1 200 OK\r\nB: final\r\nContent-Length: 1\r\n\r\nx"});
  const HttpResponse response = answer("/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers, (std::vector<Header>{{"b", "final"}, {"content-length", "1"}}));
}

TEST_F(HttpClientTest, UnfoldsHeaderLines) {
  server.serve("/", Response{.raw = "HTTP/1.1 200 OK\r\nA: one\r\n  two\r\n\tthree\r\nContent-Length: 0\r\n\r\n"});
  EXPECT_EQ(field(answer("/").headers, "a"), "one two three");
}

TEST_F(HttpClientTest, ReportsAPortWithoutAListener) {
  asio::ip::tcp::acceptor taken(context, {asio::ip::address_v4::loopback(), 0});
  const std::string url = "http://127.0.0.1:" + std::to_string(taken.local_endpoint().port()) + "/";
  taken.close();
  const HttpFailure refused = failure(url);
  EXPECT_EQ(refused.reason, Reason::connect_refused);
  EXPECT_FALSE(refused.trace.sent);
}

// The policy refuses some addresses, and the allowed one has no listener: only that one was tried, so its error is
// reported.
TEST_F(HttpClientTest, ReportsTheErrorOfTheAllowedAddress) {
  asio::ip::tcp::acceptor taken(context, {asio::ip::address_v4::loopback(), 0});
  const std::string host = "two.example:" + std::to_string(taken.local_endpoint().port());
  taken.close();
  HttpClientOptions options;
  options.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.1/32:1024-65535"}, {}, {});
  HttpShared shared(context.get_executor(), options,
                    [](void* transfer, CURLcode code, const std::exception_ptr& error) {
                      static_cast<HttpTransfer*>(transfer)->finish(code, error);
                    });
  struct Row {
    const char* addresses;
    Reason reason;
  };
  const Row rows[] = {{"127.0.0.9,127.0.0.1", Reason::connect_refused},
                      {"127.0.0.1,127.0.0.9", Reason::connect_refused},
                      {"127.0.0.8,127.0.0.1,127.0.0.9", Reason::connect_refused},
                      {"127.0.0.1", Reason::connect_refused},
                      {"127.0.0.9", Reason::egress_blocked},
                      {"127.0.0.9,127.0.0.8", Reason::egress_blocked}};
  for (const Row& row : rows) {
    HttpTransfer transfer(shared, request("http://" + host + "/"), host + ":" + row.addresses);
    context.restart();
    while (!transfer.finished) context.run_one();
    const HttpFailure refused = failure(transfer.result());
    EXPECT_EQ(refused.reason, row.reason) << row.addresses << ": " << refused.detail;
    EXPECT_FALSE(refused.trace.sent);
  }
}

TEST_F(HttpClientTest, DoesNotConnectToBlockedAddresses) {
  HttpClient strict(context.get_executor(), HttpClientOptions{});
  HttpRequest asked = request("/");
  const HttpFailure refused = failure(test::await(context, strict.get(asked)));
  EXPECT_EQ(refused.reason, Reason::egress_blocked);
  EXPECT_EQ(refused.detail, "127.0.0.1 is not a public address");
  EXPECT_FALSE(refused.trace.sent);
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(HttpClientTest, DoesNotConnectToBlockedPorts) {
  EXPECT_EQ(failure("http://127.0.0.1:22/").reason, Reason::egress_port);
  EXPECT_EQ(failure("http://127.0.0.1:6000/").reason, Reason::egress_port);
}

TEST_F(HttpClientTest, ReportsAnswersThatAreNotHttp) {
  EXPECT_EQ(failure_of({.raw = "SSH-2.0-OpenSSH_9.2\r\n"}).reason, Reason::http_malformed);
  EXPECT_EQ(failure_of({.raw = "<html>HTTP/0.9</html>"}).reason, Reason::http_malformed);
  EXPECT_EQ(failure_of({.raw = "HTTP/9.9 200 OK\r\n\r\n"}).reason, Reason::http_malformed);
  EXPECT_EQ(failure_of({.raw = std::string(4000, '\0')}).reason, Reason::http_malformed);
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc"}).reason, Reason::http_malformed);
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"}).reason,
            Reason::http_malformed);
}

TEST_F(HttpClientTest, NamesWhatEndsTooEarly) {
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}).reason, Reason::http_truncated);
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}).reason,
            Reason::http_truncated);
  EXPECT_EQ(failure_of({.headers = {{"Content-Length", "10"}}, .body = "abc", .end = End::close}).reason,
            Reason::http_truncated);
  EXPECT_EQ(failure_of({.headers = {{"Content-Length", "10"}}, .body = "abc", .end = End::reset}).reason,
            Reason::http_truncated);
  EXPECT_EQ(failure_of({.raw = "\r\n", .end = End::reset}).status, 0);
}

// HTTP §4
TEST_F(HttpClientTest, KeepsTheReceivedPartOfADocument) {
  const HttpFailure cut =
      failure_of({.raw = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 10\r\n\r\nabc"});
  EXPECT_EQ(cut.body, "abc");
  EXPECT_EQ(field(cut.headers, "content-type"), "text/xml");
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"}).body, "abc");
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nabc"}).body, "");
  EXPECT_EQ(failure_of({.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"}).body, "");
}

TEST_F(HttpClientTest, KeepsTheStatusOfABrokenAnswer) {
  const HttpFailure cut = failure_of({.raw = "HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nabc"});
  EXPECT_EQ(cut.status, 503);
  EXPECT_TRUE(cut.trace.sent);
}

TEST_F(HttpClientTest, StopsAtItsLimits) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const HttpFailure body = failure_of({.raw = head + "\r\n", .then_forever = std::string(65536, 'x')});
  EXPECT_EQ(body.reason, Reason::limit_body);
  EXPECT_LE(body.trace.wire_bytes, (16u << 20) + (32u << 10));
  EXPECT_EQ(failure_of({.raw = head + "Content-Length: 99999999999\r\n\r\n", .then_forever = "x"}).reason,
            Reason::limit_body);
  EXPECT_EQ(failure_of({.raw = head, .then_forever = "A: b\r\n"}).reason, Reason::limit_header);
  EXPECT_EQ(failure_of({.raw = head, .then_forever = "A: " + std::string(5000, 'b') + "\r\n"}).reason,
            Reason::limit_header);
  EXPECT_EQ(failure_of({.raw = head + "A: ", .then_forever = "bbbbbbbbbbbbbbbb"}).reason, Reason::limit_header);
  EXPECT_EQ(failure_of({.raw = head + "A: " + std::string(16 << 10, 'b') + "\r\n\r\n"}).reason, Reason::limit_header);
  EXPECT_EQ(
      failure_of({.raw = "HTTP/1.1 100 Continue\r\n\r\n", .then_forever = "HTTP/1.1 100 Continue\r\n\r\n"}).reason,
      Reason::limit_header);
  EXPECT_EQ(failure_of({.raw = head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", .then_forever = "T: r\r\n"})
                .reason,
            Reason::limit_header);
}

TEST_F(HttpClientTest, TakesABodyOfExactlyTheLimit) {
  HttpClientOptions options = on_loopback();
  options.max_body_bytes = 100;
  HttpClient small(context.get_executor(), options);
  server.serve("/", Response{.body = std::string(100, 'x')});
  EXPECT_EQ(answer(test::await(context, small.get(request("/")))).body.size(), 100u);
  server.serve("/", Response{.body = std::string(101, 'x')});
  EXPECT_EQ(failure(test::await(context, small.get(request("/")))).reason, Reason::limit_body);
}

TEST_F(HttpClientTest, EndsAtTheDeadline) {
  for (const std::string& begun : {std::string("HTTP"), std::string("HTTP/1.1 200 OK\r\n"),
                                   std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")}) {
    server.serve("/slow", Response{.raw = begun, .end = End::hang});
    HttpRequest asked = request("/slow");
    asked.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
    const HttpFailure late = failure(get(asked));
    EXPECT_EQ(late.reason, Reason::http_timeout);
    EXPECT_TRUE(late.trace.sent);
  }
}

TEST_F(HttpClientTest, EndsWhenTheServerStalls) {
  HttpClientOptions options = on_loopback();
  options.stall_time = std::chrono::seconds(1);
  HttpClient impatient(context.get_executor(), options);
  server.serve("/", Response{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .end = End::hang});
  EXPECT_EQ(failure(test::await(context, impatient.get(request("/")))).reason, Reason::http_stalled);
}

TEST_F(HttpClientTest, TimesOutWhenNoConnectionIsAccepted) {
  // A listener with a full queue accepts no connection and sends nothing.
  asio::ip::tcp::acceptor deaf(context, {asio::ip::address_v4::loopback(), 0});
  deaf.listen(0);
  std::vector<asio::ip::tcp::socket> queued;
  for (int i = 0; i < 4; ++i) {
    queued.emplace_back(context, asio::ip::tcp::v4());
    queued.back().native_non_blocking(true);
    const auto there = deaf.local_endpoint();
    static_cast<void>(::connect(queued.back().native_handle(), there.data(), static_cast<socklen_t>(there.size())));
  }
  HttpClientOptions options = on_loopback();
  options.connect_timeout = std::chrono::milliseconds(200);
  HttpClient hasty(context.get_executor(), options);
  const HttpFailure late = failure(test::await(
      context, hasty.get(request("http://127.0.0.1:" + std::to_string(deaf.local_endpoint().port()) + "/"))));
  EXPECT_EQ(late.reason, Reason::connect_timeout);
  EXPECT_FALSE(late.trace.sent);
}

TEST_F(HttpClientTest, NamesAServerThatSpeaksNoTls) {
  asio::ip::tcp::acceptor plain(context, {asio::ip::address_v4::loopback(), 0});
  asio::ip::tcp::socket accepted(context);
  plain.async_accept(accepted, [&](boost::system::error_code) {
    asio::write(accepted, asio::buffer("HTTP/1.1 400 What?\r\n\r\n", 22));
  });
  const HttpFailure refused = failure("https://127.0.0.1:" + std::to_string(plain.local_endpoint().port()) + "/");
  EXPECT_EQ(refused.reason, Reason::tls_handshake) << refused.detail;
  EXPECT_FALSE(refused.trace.sent);
}

// SECURITY M3: a body waits for memory, and the wait does not count as a stall.
TEST_F(HttpClientTest, PausesUntilThereIsMemory) {
  HttpClientOptions options = on_loopback();
  options.stall_time = std::chrono::seconds(1);
  HttpClient impatient(context.get_executor(), options);
  MemoryBudget budget(8 << 20);
  auto largest = std::make_unique<MemoryBudget::Share>(budget, 0);
  MemoryBudget::Share other(budget, 0), share(budget, 0);
  EXPECT_TRUE(largest->cover(50 << 20));
  EXPECT_TRUE(other.cover(2 << 20));
  const std::uint64_t before = budget.used();
  const std::string body(3 << 20, 'x');
  server.serve("/", Response{.body = body});
  asio::steady_timer frees(context, std::chrono::milliseconds(1500));  // longer than the stall limit
  std::uint64_t used = 0;
  frees.async_wait([&](boost::system::error_code) {
    used = budget.used() - before;
    largest.reset();
  });
  HttpRequest asked = request("/");
  asked.memory = &share;
  EXPECT_EQ(answer(test::await(context, impatient.get(asked))).body, body);
  EXPECT_GT(used, 0u);  // the body had begun to arrive
  EXPECT_LE(used, 4u << 20);
  EXPECT_EQ(budget.used(), other.held() + share.held());
}

TEST_F(HttpClientTest, GivesUpWithoutMemory) {
  HttpClientOptions options = on_loopback();
  options.memory_wait = std::chrono::milliseconds(20);
  HttpClient hasty(context.get_executor(), options);
  MemoryBudget budget(1 << 20);
  MemoryBudget::Share largest(budget, 0), other(budget, 0);
  EXPECT_TRUE(largest.cover(1 << 20));
  EXPECT_TRUE(other.cover(400 << 10));
  server.serve("/", Response{.body = std::string(1 << 20, 'x')});
  for (int i = 0; i < 3; ++i) {
    MemoryBudget::Share share(budget, 0);
    HttpRequest asked = request("/");
    asked.memory = &share;
    EXPECT_EQ(failure(test::await(context, hasty.get(asked))).reason, Reason::worker_memory);
  }
  HttpRequest pausing = request("/");  // the deadline also ends a pause, without blaming the server
  pausing.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
  MemoryBudget::Share share(budget, 0);
  pausing.memory = &share;
  EXPECT_EQ(failure(get(pausing)).reason, Reason::worker_memory);
  EXPECT_EQ(answer("/").body.size(), 1u << 20);
}

// SECURITY M6
TEST_F(HttpClientTest, LongHeadsCountAndThoseOfSmallAnswersAreShort) {
  const std::string line = "A: " + std::string(4'000, 'a') + "\r\n";
  std::string long_head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  for (int i = 0; i < 20; ++i) long_head += line;
  server.serve("/long", Response{.raw = long_head + "\r\n"});
  server.serve("/usual", Response{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + line + "\r\n"});
  MemoryBudget budget(1 << 20);
  const auto get_within = [&](const std::string& path, MemoryBudget::Share& share) {
    HttpRequest asked = request(path);
    asked.memory = &share;
    return get(asked);
  };
  {
    MemoryBudget::Share usual(budget, 0), large(budget, 0);
    EXPECT_EQ(answer(get_within("/usual", usual)).status, 200);
    EXPECT_EQ(usual.held(), 0U);
    EXPECT_EQ(answer(get_within("/long", large)).status, 200);
    EXPECT_GE(large.held(), 2 * 80'000U);
  }
  MemoryBudget::Share largest(budget, 0), other(budget, 0), none(budget, 0);
  EXPECT_TRUE(largest.cover(1 << 20));
  EXPECT_TRUE(other.cover(500 << 10));
  EXPECT_EQ(failure(get_within("/long", none)).reason, Reason::worker_memory);
  HttpRequest small = request("/long");
  small.max_body_bytes = 16U << 10U;
  EXPECT_EQ(failure(get(small)).reason, Reason::limit_header);
}

TEST_F(HttpClientTest, UnwindsFromAPause) {
  MemoryBudget budget(1 << 20);
  MemoryBudget::Share largest(budget, 0), other(budget, 0);
  EXPECT_TRUE(largest.cover(1 << 20));
  EXPECT_TRUE(other.cover(200 << 10));
  const std::uint64_t before = budget.used();
  server.serve("/", Response{.body = std::string(1 << 20, 'x')});
  {
    MemoryBudget::Share share(budget, 0);
    HttpRequest asked = request("/");
    asked.memory = &share;
    asio::cancellation_signal cancel;
    bool unwound = false;
    asio::co_spawn(context, client.get(asked),
                   asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown, const HttpResult&) {
                     unwound = thrown != nullptr;
                   }));
    context.restart();
    while (server.requests().empty() || budget.used() == before) context.run_one();
    cancel.emit(asio::cancellation_type::terminal);
    while (!unwound) context.run_one();
  }
  EXPECT_EQ(budget.used(), before);
}

// HTTP §7: libcurl retries by itself when a reused connection turns out to be dead.
TEST_F(HttpClientTest, AsksAgainWhenAKeptConnectionHasDied) {
  server.serve("/", [](const ServedRequest& asked) {
    return asked.connection == 1 ? Response{.silent = true, .end = End::close} : Response{.body = "x"};
  });
  server.serve("/first", Response{.body = "y"});
  EXPECT_EQ(answer("/first").body, "y");
  EXPECT_EQ(answer("/").body, "x");
  EXPECT_EQ(server.connections(), 2u);
  EXPECT_EQ(server.count("/"), 2u);
}

TEST_F(HttpClientTest, DoesNotAskAgainOnAFreshConnection) {
  const HttpFailure silent = failure_of({.silent = true, .end = End::close});
  EXPECT_EQ(silent.reason, Reason::http_truncated);
  EXPECT_EQ(silent.status, 0);
  EXPECT_EQ(server.count("/bad"), 1u);
}

TEST_F(HttpClientTest, ReplacesConnectionsTheServerHasClosed) {
  server.serve("/", Response{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answer("/").body, "x");
}

TEST_F(HttpClientTest, OpensAFreshConnectionWhenTold) {
  server.serve("/", Response{.body = "x"});
  EXPECT_EQ(answer("/").trace.connections_new, 1u);
  EXPECT_EQ(answer("/").trace.connections_new, 0u);
  HttpRequest asked = request("/");
  asked.fresh_connection = true;
  EXPECT_EQ(answer(get(asked)).trace.connections_new, 1u);
  EXPECT_EQ(server.connections(), 2u);
}

// Cancels at every step of an exchange.
TEST_F(HttpClientTest, ReleasesEverythingWhenCancelled) {
  server.serve("/", Response{.body = "well"});
  const std::vector<std::string> begun = {"HTTP", "HTTP/1.1 200 OK\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"};
  for (int steps = 0; steps < 12; ++steps) {
    server.serve("/slow", Response{.raw = begun[static_cast<std::size_t>(steps) % begun.size()], .end = End::hang});
    asio::cancellation_signal cancel;
    bool unwound = false;
    const HttpRequest slow = request("/slow");
    asio::co_spawn(context, client.get(slow),
                   asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown, const HttpResult&) {
                     unwound = thrown != nullptr;
                   }));
    context.restart();
    for (int i = 0; i < steps; ++i) context.poll_one();
    asio::post(context, [&] { cancel.emit(asio::cancellation_type::terminal); });
    while (!unwound) context.run_one();
    EXPECT_EQ(answer("/").body, "well");
  }
}

TEST_F(HttpClientTest, MayGoWhileCallbacksAreQueued) {
  server.serve("/", Response{.body = "x"});
  auto short_lived = std::make_unique<HttpClient>(context.get_executor(), on_loopback());
  answer(test::await(context, short_lived->get(request("/"))));
  short_lived.reset();
  context.restart();
  context.run();
}

}  // namespace
}  // namespace feedmill::http_client_test
