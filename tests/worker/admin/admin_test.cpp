#include "worker/admin/admin.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace feedmill::admin_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;

tcp::endpoint loopback(std::uint16_t port = 0) {
  return {asio::ip::address_v4::loopback(), port};
}

/// A listener with its loop in a separate thread; clients are plain blocking sockets.
class AdminTest : public testing::Test {
 public:
  ~AdminTest() override { stop(); }

 protected:
  void start() {
    admin = Admin::open(io.get_executor(), options,
                        {[this] { return live; }, [this] { return ready; }, [] { return std::string("metric 1\n"); },
                         [this](std::vector<std::string> urls) { return ping(std::move(urls)); },
                         [this](const char*) { ++bugs; }},
                        {{"/page", "/page.json"}, answer_page})
                .value();
    asio::co_spawn(
        io, admin->serve(),
        asio::bind_cancellation_slot(cancel.slot(), [this](const std::exception_ptr& error) { ended = error; }));
    loop = std::thread([this] { io.run(); });
  }
  void stop() {
    if (!loop.joinable()) return;
    asio::post(io, [this] { cancel.emit(asio::cancellation_type::all); });
    loop.join();
  }
  asio::awaitable<Pinged> ping(std::vector<std::string> urls) {
    pinged = std::move(urls);
    co_return answer;
  }
  std::string post(const std::string& body, const std::string& headers = "") {
    return exchange("POST /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  tcp::socket connect() {
    tcp::socket socket(client);
    socket.connect(admin->endpoint());
    return socket;
  }
  /// Everything the listener sends until it closes the connection.
  std::string exchange(const std::string& request) {
    tcp::socket socket = connect();
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(request), ignored);
    std::string reply;
    asio::read(socket, asio::dynamic_buffer(reply), ignored);
    return reply;
  }
  std::string get(const std::string& target, const std::string& method = "GET") {
    return exchange(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  static asio::awaitable<AdminPage> answer_page(std::string path, std::string query) {
    AdminPage page;
    if (query == "throw") throw std::runtime_error("a bug of a page");
    page.status = query == "missing" ? 404 : 200;
    page.type = path == "/page" ? "text/html; charset=utf-8" : "application/json";
    page.body = path + "?" + query;
    co_return page;
  }

  Admin::Options options{.listen = loopback()};
  int bugs = 0;
  Pinged answer{.feeds = 1};
  std::vector<std::string> pinged;
  std::vector<Check> live{{"loop", true, "ticked 1 ms ago"}};
  std::vector<Check> ready{{"redis", true, "redis 7.0.15"}, {"draining", true, ""}};
  asio::io_context io{1}, client;
  asio::cancellation_signal cancel;
  std::unique_ptr<Admin> admin;
  std::optional<std::exception_ptr> ended;
  std::thread loop;
};

TEST_F(AdminTest, AnswersProbesAndMetrics) {
  start();
  EXPECT_NE(admin->endpoint().port(), 0);
  EXPECT_THAT(get("/livez"), testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Cache-Control: no-store\r\n"),
                                            HasSubstr("X-Content-Type-Options: nosniff\r\n"),
                                            HasSubstr(R"({"status":"ok","checks":[{"name":"loop","ok":true}]})")));
  EXPECT_THAT(get("/livez?verbose"), HasSubstr("ticked 1 ms ago"));
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/metrics"), testing::AllOf(HasSubstr("Content-Type: text/plain; version=0.0.4"),
                                              testing::EndsWith("\r\n\r\nmetric 1\n")));
}

TEST_F(AdminTest, IsNotReadyWhenACheckFails) {
  ready[0] = {"redis", false, "Connection refused"};
  start();
  EXPECT_THAT(get("/readyz?a=b&verbose=1"), testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection refused"),
                                                           HasSubstr(R"("status":"failing")")));
  EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200"));
}

TEST_F(AdminTest, StaysStartedOnceItWasReady) {
  ready[0].passed = false;
  start();
  EXPECT_THAT(get("/startupz"), StartsWith("HTTP/1.1 503"));
  asio::post(io, asio::use_future([this] { ready[0].passed = true; })).get();
  EXPECT_THAT(get("/startupz"), StartsWith("HTTP/1.1 200"));
  asio::post(io, asio::use_future([this] { ready[0].passed = false; })).get();
  EXPECT_THAT(get("/startupz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 503"));
}

struct TargetCase {
  const char* target;
  int status;
};
TEST_F(AdminTest, MatchesTargetsExactly) {
  start();
  for (const auto& [target, status] :
       {TargetCase{"/livez", 200}, TargetCase{"/%6civez", 200}, TargetCase{"/livez?", 200}, TargetCase{"/livez/", 404},
        TargetCase{"//livez", 404}, TargetCase{"/", 404}, TargetCase{"/Livez", 404}, TargetCase{"/x/../livez", 404},
        TargetCase{"/%2e%2e/livez", 404}, TargetCase{"/%256civez", 404}, TargetCase{"/livez%00", 404},
        TargetCase{"/%6", 404}, TargetCase{"/%zz", 404}, TargetCase{"/../../etc/passwd", 404},
        TargetCase{"http://x/livez", 404}})
    EXPECT_THAT(get(target), StartsWith("HTTP/1.1 " + std::to_string(status))) << target;
}

TEST_F(AdminTest, TakesOnlyGetAndHead) {
  start();
  const std::string head = get("/metrics", "HEAD");
  EXPECT_THAT(head, testing::AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Length: 9\r\n"),
                                   testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(get("/livez", "POST"), testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: GET, HEAD\r\n")));
  EXPECT_THAT(get("/livez", "BREW"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(get("/nothing", "POST"), StartsWith("HTTP/1.1 404"));
}

TEST_F(AdminTest, ServesPagesWithSecurityHeaders) {
  start();
  const std::string page = get("/page?a=%20");
  EXPECT_THAT(page, testing::AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), testing::EndsWith("\r\n\r\n/page?a=%20")));
  for (const char* const header :
       {"Content-Type: text/html; charset=utf-8\r\n",
        ("Content-Security-Policy: default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'\r\n"),
        "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n", "Cache-Control: no-store\r\n"})
    EXPECT_THAT(page, HasSubstr(header));
  EXPECT_THAT(get("/page.json"), HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(get("/page?missing"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(get("/%70age"), StartsWith("HTTP/1.1 200"));
  for (const char* const target : {"/page/", "//page", "/pages", "/page%00", "/x/../page", "/%2570age", "/Page"})
    EXPECT_THAT(get(target), StartsWith("HTTP/1.1 404")) << target;
  EXPECT_THAT(get("/page", "HEAD"), testing::AllOf(HasSubstr("Content-Length: 6\r\n"), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(get("/page", "POST"), StartsWith("HTTP/1.1 405"));
}

TEST_F(AdminTest, RequiresTheConfiguredTokenExceptForProbes) {
  options.token = "a-token-of-our-own";
  start();
  for (const char* const probe : {"/livez", "/readyz", "/startupz"})
    EXPECT_THAT(get(probe), StartsWith("HTTP/1.1 200"));
  for (const char* const target : {"/metrics", "/page", "/page.json"}) {
    EXPECT_THAT(get(target), testing::AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer realm"),
                                            testing::Not(HasSubstr("metric 1"))))
        << target;
    const std::string head =
        std::string("GET ") + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: ";
    EXPECT_THAT(exchange(head + "Bearer a-token-of-our-own\r\n\r\n"), StartsWith("HTTP/1.1 200")) << target;
    EXPECT_THAT(exchange(head + "Bearer another-token-than\r\n\r\n"), StartsWith("HTTP/1.1 401")) << target;
  }
  EXPECT_THAT(get("/nothing"), StartsWith("HTTP/1.1 404"));
}

TEST_F(AdminTest, TakesPings) {
  start();
  EXPECT_THAT(post("a=b&url=https%3A%2F%2Fexample.org%2F%3Fa+b"), StartsWith("HTTP/1.1 202"));
  EXPECT_THAT(pinged, testing::ElementsAre("https://example.org/?a b"));
  answer = {.unknown = 1};
  EXPECT_THAT(post("url=x"), StartsWith("HTTP/1.1 404"));
  answer = {.store_away = true};
  EXPECT_THAT(post("url=x"), testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: ")));
  answer = {};
  EXPECT_THAT(post("url=x"), StartsWith("HTTP/1.1 400"));
}

// OPERATIONS §6: podping relays send batches of this size.
TEST_F(AdminTest, TakesFiftyPingsAtOnce) {
  start();
  std::string many = "url=" + std::string(1000, 'a');
  for (int i = 1; i < 50; ++i) many += "&url=https%3A%2F%2Fexample.org%2F" + std::to_string(i);
  answer = {.feeds = 48, .unknown = 1};
  EXPECT_THAT(post(many), testing::AllOf(StartsWith("HTTP/1.1 202"), HasSubstr("Accepted: 48 of 50 are feeds\n")));
  ASSERT_EQ(pinged.size(), 50u);
  EXPECT_EQ(pinged.back(), "https://example.org/49");
  pinged.clear();
  EXPECT_THAT(post(many + "&url=b"), testing::AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("up to 50 times")));
  EXPECT_TRUE(pinged.empty());
  answer = {.unknown = 2};
  EXPECT_THAT(post("url=a&url=b"), StartsWith("HTTP/1.1 404"));
}

TEST_F(AdminTest, RejectsMalformedPings) {
  start();
  for (const char* body : {"", "x", "url=a&url=%zz", "url=%zz", "URL=a"}) {
    EXPECT_THAT(post(body), StartsWith("HTTP/1.1 400")) << body;
  }
  EXPECT_THAT(get("/ping"), testing::AllOf(StartsWith("HTTP/1.1 405"), HasSubstr("Allow: POST\r\n")));
  EXPECT_THAT(post("url=" + std::string(70'000, 'x')), StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(pinged.empty());
}

TEST_F(AdminTest, ShowsMetricsToClientsWithTheToken) {
  options.token = "a secret";
  start();
  EXPECT_THAT(get("/metrics"), testing::AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer realm")));
  const auto with = [this](const std::string& authorization) {
    return exchange("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: " + authorization +
                    "\r\n\r\n");
  };
  EXPECT_THAT(with("Bearer a secret"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with("bearer a secret"), StartsWith("HTTP/1.1 200"));
  for (const char* wrong : {"a secret", "Bearer", "Bearer ", "Bearer a secret2", "Bearer a secre", "Basic a secret"}) {
    EXPECT_THAT(with(wrong), StartsWith("HTTP/1.1 401")) << wrong;
  }
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(post("url=x"), StartsWith("HTTP/1.1 202"));  // a local client needs no token
}

TEST_F(AdminTest, KeepsAConnectionForSeveralRequests) {
  start();
  tcp::socket socket = connect();
  asio::streambuf buffer;
  for (int i = 0; i < 3; ++i) {
    asio::write(socket, asio::buffer(std::string("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")));
    const auto size = asio::read_until(socket, buffer, "metric 1\n");
    buffer.consume(size);
  }
}

TEST_F(AdminTest, NeverReadsABody) {
  start();
  const std::string reply =
      exchange("POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\nGET /metrics HTTP/1.1\r\n");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(reply, testing::Not(HasSubstr("metric 1")));
}

TEST_F(AdminTest, RejectsMalformedRequests) {
  start();
  EXPECT_THAT(exchange("\x16\x03\x01 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(exchange("GET /livez HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(AdminTest, ClosesAConnectionThatSaysNothing) {
  options.limits.head_time = 20ms;
  start();
  EXPECT_EQ(exchange("GET /livez HT"), "");
}

// SECURITY T33: after DNS rebinding, the Host header of a browser has the attacker's name.
TEST_F(AdminTest, AcceptsOnlyItsOwnHostNamesWithoutAToken) {
  options.hosts = {"feedmill.example"};
  start();
  const auto ask = [this](const std::string& target, const std::string& host) {
    return exchange("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  };
  for (const char* target : {"/page", "/page.json", "/metrics", "/", "/nothing", "/ping"}) {
    EXPECT_THAT(ask(target, "evil.example"),
                testing::AllOf(StartsWith("HTTP/1.1 421"), testing::Not(HasSubstr("metric 1"))))
        << target;
  }
  for (const char* host : {"localhost:9810", "127.0.0.1", "[::1]:9810", "192.0.2.1", "feedmill.example:80"})
    EXPECT_THAT(ask("/metrics", host), StartsWith("HTTP/1.1 200")) << host;
  for (const char* probe : {"/livez", "/readyz", "/startupz"})
    EXPECT_THAT(ask(probe, "evil.example"), StartsWith("HTTP/1.1 200")) << "a wrong name must not kill a worker";
  EXPECT_THAT(ask("/livez?verbose", "evil.example"), testing::Not(HasSubstr("ticked")));
  EXPECT_THAT(exchange("POST /ping HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\nurl=x"),
              StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(exchange("GET /metrics HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200")) << "no browser asks like that";
  EXPECT_TRUE(pinged.empty());
}

TEST_F(AdminTest, AcceptsAnyHostNameWithTheToken) {
  options.token = "a-token-of-our-own";
  start();
  const std::string head = "GET /page HTTP/1.1\r\nHost: status.example\r\nConnection: close\r\n";
  EXPECT_THAT(exchange(head + "\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(exchange(head + "Authorization: Bearer a-token-of-our-own\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  // A local ping needs no token unless a proxy forwarded it or it names another host.
  EXPECT_THAT(post("url=x"), StartsWith("HTTP/1.1 202"));
  EXPECT_THAT(post("url=x", "X-Forwarded-For: 192.0.2.1\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(post("url=x", "X-Forwarded-For: 192.0.2.1\r\nAuthorization: Bearer a-token-of-our-own\r\n"),
              StartsWith("HTTP/1.1 202"));
  EXPECT_THAT(exchange("POST /ping HTTP/1.1\r\nHost: status.example\r\nContent-Length: 5\r\n\r\nurl=x"),
              StartsWith("HTTP/1.1 401"));
}

TEST_F(AdminTest, TakesNoPingsFromPagesOfOthers) {
  start();
  for (const char* field :
       {"Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"})
    EXPECT_THAT(post("url=x", std::string(field) + "\r\n"), StartsWith("HTTP/1.1 403")) << field;
  EXPECT_TRUE(pinged.empty());
  EXPECT_THAT(post("url=x", "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"), StartsWith("HTTP/1.1 202"));
  EXPECT_THAT(post("url=x", "Content-Encoding: gzip\r\n"), StartsWith("HTTP/1.1 415"));
}

TEST_F(AdminTest, KnowsThisMachineByItsIPv4AddressInIPv6) {
  options.listen = {asio::ip::address_v6::any(), 0};
  options.token = "a-token-of-our-own";
  start();
  tcp::socket socket(client);
  socket.connect(loopback(admin->endpoint().port()));
  asio::write(socket,
              asio::buffer(std::string("POST /ping HTTP/1.0\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nurl=x")));
  std::string reply;
  boost::system::error_code ignored;
  asio::read(socket, asio::dynamic_buffer(reply), ignored);
  EXPECT_THAT(reply, StartsWith("HTTP/1.0 202"));
}

TEST_F(AdminTest, ReportsABugInAnAnswer) {
  options.places = {.connections = 1, .per_network = 1};
  start();
  EXPECT_EQ(get("/page?throw"), "");
  EXPECT_EQ(get("/page?throw"), "");
  EXPECT_EQ(get("/page?throw"), "");
  EXPECT_THAT(get("/page"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(asio::post(io, asio::use_future([this] { return bugs; })).get(), 3);
}

TEST_F(AdminTest, EndsWhenCancelledAndLeavesNoConnection) {
  start();
  tcp::socket idle = connect();
  asio::write(idle, asio::buffer(std::string("GET /")));
  EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200"));
  stop();
  ASSERT_TRUE(ended);
  char byte;
  boost::system::error_code error;
  asio::read(idle, asio::buffer(&byte, 1), error);
  EXPECT_TRUE(error);
}

TEST_F(AdminTest, NamesTheListenFlagWhenThePortIsInUse) {
  start();
  Admin::Options same{.listen = admin->endpoint()};
  const auto second = Admin::open(io.get_executor(), same, {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().detail, testing::AllOf(HasSubstr("127.0.0.1:" + std::to_string(admin->endpoint().port())),
                                                    HasSubstr("--listen")));
}

}  // namespace
}  // namespace feedmill::admin_test
