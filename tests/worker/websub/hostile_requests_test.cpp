// One table of hostile requests against both listeners (SECURITY W1): the answer to each, that no part of a body is
// taken for the next request, and that memory does not grow with the input.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "storage/records/tokens.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/sanitized.hpp"
#include "worker/admin/admin.hpp"
#include "worker/websub/callbacks.hpp"
#include "worker/websub/signature.hpp"

namespace feedmill::hostile_requests_test {
namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
namespace asio = boost::asio;
using asio::ip::tcp;

/// Both listeners on one loop in a separate thread: one takes pings, the other deliveries for a subscription without a
/// secret.
class HostileRequests : public testing::Test {
 public:
  ~HostileRequests() override {
    asio::post(io, [this] { cancel.emit(asio::cancellation_type::all); });
    if (loop.joinable()) loop.join();
    threads.pool().join();
  }

 protected:
  HostileRequests() : store(StoreOptions{.url = redis.url()}) {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(Feeds(store).add(std::vector{NewFeed{.feed_url = "http://example.org/"}}));
    PushRecord record;
    record.token = random_token();
    record.hash = hash_of_token(record.token);
    record.feed_url = record.topic = "http://example.org/";
    record.hub = record.hub_url = "http://hub.example/";
    Pushes subscriptions(store);
    EXPECT_TRUE(subscriptions.begin(record));
    EXPECT_TRUE(subscriptions.answer({record.hash, "subscribe", record.topic, 240h, 120h, ""}));
    callback_target = "/w/" + record.token;
  }

  void start(const std::function<void(RequestLimits&)>& change = {}) {
    Admin::Options admin_options{.listen = {asio::ip::address_v4::loopback(), 0}};
    CallbackListener::Options callback_options;
    callback_options.listen = {asio::ip::address_v4::loopback(), 0};
    if (change) {
      change(admin_options.limits);
      change(callback_options.limits);
    }
    const auto nothing = [] { return std::vector<Check>(); };
    Health health{nothing, nothing, [] { return std::string("metric 1\n"); }, {}, {}};
    health.ping = [](const std::vector<std::string>&) -> asio::awaitable<Pinged> { co_return Pinged{.feeds = 1}; };
    admin = Admin::open(io.get_executor(), admin_options, health).value();
    ByPartition<Callbacks> answers;
    answers.add({}, answers_of_hubs);
    callbacks = CallbackListener::open(io.get_executor(), callback_options, {answers, metrics, log}).value();
    asio::co_spawn(io, serve(), asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
    loop = std::thread([this] { io.run(); });
  }
  asio::awaitable<void> serve() { co_await (admin->serve() && callbacks->serve()); }

  struct Door {
    std::string name, target;
    std::uint16_t port;
  };
  std::vector<Door> doors() const {
    return {{"admin", "/ping", admin->endpoint().port()}, {"callbacks", callback_target, callbacks->endpoint().port()}};
  }

  test::RedisServer redis;
  Store store;
  std::string callback_target;
  asio::io_context io{1};
  asio::cancellation_signal cancel;
  Metrics metrics{{"test", "test", ""}};
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Log log{{.level = LogLevel::info, .format = LogFormat::json, .worker = "", .fd = nowhere}};
  StorePool pool{io.get_executor(), StoreOptions{.url = redis.url()}, 1};
  PushStore push_store{io.get_executor(), StoreOptions{.url = redis.url()}};
  MemoryBudget memory{512U << 20U};
  ReadingThreads threads{1, memory};
  Fetcher fetcher{io.get_executor(), {}};
  Refresher refresher{fetcher, threads,          pool,
                      memory,  RefreshOptions(), [](const StoreResult<Committed>&, std::chrono::duration<double>) {}};
  PushIntake intake{io.get_executor(), refresher, threads, push_store, metrics, log, {}};
  Callbacks answers_of_hubs{{push_store, intake, memory, metrics, log}};
  std::unique_ptr<Admin> admin;
  std::unique_ptr<CallbackListener> callbacks;
  std::thread loop;
};

/// The bytes sent: TARGET is replaced by the path that takes bodies. The last request of a row is the hostile one; if
/// it could be misread, another follows that must not be answered.
struct Hostile {
  const char* name;
  std::string bytes;
  std::vector<int> answers;                        ///< statuses in order; none: closed without an answer
  std::optional<std::vector<int>> of_callbacks{};  ///< if different there
};

const std::string post = "POST TARGET HTTP/1.1\r\nHost: localhost\r\n";
const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A request with that field; another request follows its body, however that is framed.
std::string with(const std::string& field) {
  return post + field + "\r\n\r\n" + smuggled;
}
std::string chunked(const std::string& body) {
  return post + "Transfer-Encoding: chunked\r\n\r\n" + body;
}
std::string repeated(std::size_t times, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<Hostile> table() {
  std::string many_fields;
  for (int i = 0; i < 101; ++i) many_fields += "X-" + std::to_string(i) + ": y\r\n";
  const std::string mib(1U << 20U, 'x');
  const std::string body = "Content-Length: 5\r\n\r\nurl=x", chunk = "5\r\nurl=x\r\n";
  const std::vector<int> bad{400};
  return {
      // Valid requests, as a control.
      {"length", post + body, {202}},
      {"chunks", chunked("3;a=b;c=\"d\"\r\nurl\r\n2\r\n=x\r\n0\r\nX-Trailer: y\r\n\r\n"), {202}},
      {"two after another", post + body + post + body, {202, 202}},
      {"a coding in capitals",
       post + "Transfer-Encoding: CHUNKED\r\n\r\n" + chunk + "0\r\n\r\n" + post + body,
       {202, 202}},
      {"expects to go on", post + "Expect: 100-continue\r\n" + body, {100, 202}},
      {"in pieces of one byte", chunked("1\r\nu\r\n1\r\nr\r\n1\r\nl\r\n1\r\n=\r\n0\r\n\r\n"), {202}},
      // Start lines.
      {"empty line first", "\r\n" + post + body, bad},
      {"no version", "POST TARGET\r\nHost: localhost\r\n\r\n", bad},
      {"version 2", "POST TARGET HTTP/2.0\r\nHost: localhost\r\n\r\n", bad},
      {"version 0.9", "POST TARGET HTTP/0.9\r\nHost: localhost\r\n\r\n", bad},
      {"version in small letters", "POST TARGET http/1.1\r\nHost: localhost\r\n\r\n", bad},
      {"version with more digits", "POST TARGET HTTP/1.10\r\nHost: localhost\r\n\r\n", bad},
      {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bad},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00", 7), bad},
      {"two spaces", "POST  TARGET HTTP/1.1\r\nHost: localhost\r\n\r\n", bad},
      {"a tab for a space", "POST\tTARGET HTTP/1.1\r\nHost: localhost\r\n\r\n", bad},
      {"a space in the target", "GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", bad},
      {"NUL in the target", std::string("GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n", 38), bad},
      {"a target without end", "GET /" + mib, {414}},
      {"a method without end", mib, {414}},
      {"an unknown method", "BREW TARGET HTTP/1.1\r\nHost: localhost\r\n" + body + smuggled, {405}},
      {"a tunnel", "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}, {{405}}},
      {"a whole URL for a target", "GET http://evil.example/status HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}},
      {"an encoded NUL", "GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}},
      {"an encoded line end", "GET /%0d%0aX:%20y HTTP/1.1\r\nHost: localhost\r\n\r\n", {404}},
      // Fields.
      {"line ends without return", "POST TARGET HTTP/1.1\nHost: localhost\n\n", bad},
      {"one line end without return", "POST TARGET HTTP/1.1\r\nHost: localhost\n" + body, bad},
      {"a return in a value", with("X: a\rb"), bad},
      {"NUL in a value", post + std::string("X: a\0b\r\n\r\n", 10), bad},
      {"a control character in a value", with("X: a\x07"), bad},
      {"a space before the colon", with("Content-Length : 45"), bad},
      {"no colon", with("nothing"), bad},
      {"no name", with(": x"), bad},
      {"a folded field", with("X: a\r\n b"), bad},
      {"a folded coding", with("Transfer-Encoding:\r\n chunked"), bad},
      {"a folded first field", "POST TARGET HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n", bad},
      {"no host", "POST TARGET HTTP/1.1\r\n" + body, bad},
      {"two hosts", with("Host: other"), bad},
      {"too many fields", post + many_fields + body, {431}},
      {"a field without end", post + "X: " + mib, {431}},
      {"fields without end", post + repeated(200'000, "X: y\r\n"), {431}},
      // Where the body ends.
      {"length and chunks", with("Content-Length: 5\r\nTransfer-Encoding: chunked"), bad},
      {"chunks and length", with("Transfer-Encoding: chunked\r\nContent-Length: 45"), bad},
      {"two lengths", with("Content-Length: 5\r\nContent-Length: 45"), bad},
      {"two equal lengths", with("Content-Length: 45\r\nContent-Length: 45"), bad},
      {"a list of lengths", with("Content-Length: 45, 45"), bad},
      {"a negative length", with("Content-Length: -1"), bad},
      {"a length with a sign", with("Content-Length: +45"), bad},
      {"a length in hexadecimal", with("Content-Length: 0x2d"), bad},
      {"a length of two words", with("Content-Length: 4 5"), bad},
      {"a length that overflows", with("Content-Length: 18446744073709551661"), bad},
      {"no length", with("Content-Length:"), bad},
      {"an enormous length", with("Content-Length: 1000000000000000"), {413}},
      {"an unknown coding", with("Transfer-Encoding: xchunked"), bad},
      {"identity", with("Transfer-Encoding: identity"), bad},
      {"chunked and then identity", with("Transfer-Encoding: chunked, identity"), bad},
      {"chunked twice", with("Transfer-Encoding: chunked, chunked"), bad},
      {"gzip below chunked", with("Transfer-Encoding: gzip, chunked"), {501}},
      {"two coding fields", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), bad},
      {"a coding, then chunked", with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"), bad},
      {"a coding with a parameter", with("Transfer-Encoding: chunked;q=1"), bad},
      {"a coding in quotes", with("Transfer-Encoding: \"chunked\""), bad},
      {"a coding behind a vertical tab", with("Transfer-Encoding: \vchunked"), bad},
      {"no coding", with("Transfer-Encoding:"), bad},
      {"chunks in version 1.0",
       "POST TARGET HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad},
      {"a body where none is read",
       "GET /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 45\r\n\r\n" + smuggled,
       {404}},
      {"chunks where none are read",
       "GET /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled,
       {404}},
      // Chunks.
      {"a size that is no number", chunked("zz\r\n" + smuggled), bad},
      {"a negative size", chunked("-1\r\n" + smuggled), bad},
      {"a size with a prefix", chunked("0x5\r\nurl=x\r\n0\r\n\r\n" + smuggled), bad},
      {"a size that overflows", chunked("fffffffffffffffff\r\n" + smuggled), bad},
      {"an enormous size", chunked("ffffffffffffff\r\n" + smuggled), {413}},
      {"no size", chunked(";a=b\r\n" + smuggled), bad},
      {"a size behind a space", chunked(" 5\r\nurl=x\r\n0\r\n\r\n" + smuggled), bad},
      {"a chunk that is longer than it says", chunked("3\r\nurl=x\r\n0\r\n\r\n" + smuggled), bad},
      {"a chunk line without return", chunked("5\nurl=x\r\n0\r\n\r\n" + smuggled), bad},
      {"a broken extension", chunked("5;=\r\nurl=x\r\n0\r\n\r\n" + smuggled), bad},
      {"an extension without end", chunked("1;" + mib), {413}},
      {"a trailer without end", chunked("0\r\nX: " + mib), {413}},
      {"trailers without end", chunked("0\r\n" + repeated(100'000, "X: aaaaaaaaaa\r\n")), {413}},
      {"leading zeros without end", chunked(std::string(1U << 20U, '0')), {413}},
      {"extensions on every chunk", chunked(repeated(4'000, "1;a=" + std::string(500, 'x') + "\r\ny\r\n")), {413}},
      {"a length among the trailers", chunked("0\r\nContent-Length: 45\r\n\r\n" + smuggled), bad},
      {"a coding among the trailers", chunked("0\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled), bad},
      {"a folded trailer", chunked(chunk + "0\r\nX: a\r\n b\r\n\r\n"), {202}},
      // Bodies.
      {"a body that is too long", post + "Content-Length: 5000000\r\n\r\n" + repeated(5, mib), {413}},
      {"chunks that are too much", chunked(repeated(6, "100000\r\n" + mib + "\r\n")), {413}},
      {"an unknown content coding", post + "Content-Encoding: rot13\r\n" + body + smuggled, {415}},
      {"two content codings", post + "Content-Encoding: gzip\r\nContent-Encoding: br\r\n" + body + smuggled, {415}},
      {"half a body", post + "Content-Length: 45\r\n\r\nurl=x", {}},
      {"half a chunk", chunked("5\r\nurl"), {}},
      {"no last chunk", chunked(chunk), {}},
      {"no end of trailers", chunked(chunk + "0\r\nX: y\r\n"), {}},
      {"half a head", post + "X:", {}},
  };
}

/// Statuses of the answers in `text`, in order.
std::vector<int> statuses(const std::string& text) {
  std::vector<int> found;
  constexpr std::string_view line = "HTTP/1.";
  for (auto at = text.find(line); at != std::string::npos; at = text.find(line, at + 1))
    found.push_back(std::stoi(text.substr(at + line.size() + 2, 3)));
  return found;
}

TEST_F(HostileRequests, GetTheExpectedAnswersAndSmuggleNoRequest) {
  start();
  const std::vector<Hostile> rows = table();
  ASSERT_GE(rows.size(), 50U);
  for (const Door& door : doors()) {
    for (const Hostile& row : rows) {
      std::string bytes = row.bytes;
      for (auto at = bytes.find("TARGET"); at != std::string::npos; at = bytes.find("TARGET"))
        bytes.replace(at, 6, door.target);
      const auto& expected = door.name == "callbacks" && row.of_callbacks ? *row.of_callbacks : row.answers;
      EXPECT_EQ(statuses(test::say_and_hear_out(door.port, bytes)), expected) << door.name << ": " << row.name;
      EXPECT_EQ(statuses(test::say_and_hear_out(door.port, "GET /nothing HTTP/1.0\r\n\r\n")), (std::vector{404}))
          << door.name << " after: " << row.name;
    }
  }
  EXPECT_EQ(memory.used(), 0U);
}

/// Sends single bytes until the connection is closed: each arrives in time, but the request never completes.
asio::awaitable<void> drip(tcp::socket& socket, std::string head, std::string tail) {
  asio::steady_timer timer(socket.get_executor());
  co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
  for (std::size_t i = 0;; ++i) {
    timer.expires_after(5ms);
    co_await timer.async_wait(asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(&tail[i % tail.size()], 1), asio::use_awaitable);
  }
}

asio::awaitable<void> hear(tcp::socket& socket, std::string& reply) {
  std::array<char, 1024> block{};
  for (;;) {
    const auto [gone, got] = co_await socket.async_read_some(asio::buffer(block), asio::as_tuple(asio::use_awaitable));
    if (gone) co_return;
    reply.append(block.data(), got);
  }
}

TEST_F(HostileRequests, ThatComeSlowlyEndInTime) {
  start([](RequestLimits& limits) { limits.head_time = limits.body_time = 300ms; });
  for (const Door& door : doors()) {
    const std::string head = "POST " + door.target + " HTTP/1.1\r\nHost: localhost\r\n";
    const std::string chunks = head + "Transfer-Encoding: chunked\r\n\r\n";
    const std::pair<std::string, std::string> rows[] = {{"G", "E"},
                                                        {head + "X: ", "y"},
                                                        {head, "X: y\r\n"},
                                                        {head + "Content-Length: 8000\r\n\r\n", "x"},
                                                        {chunks, "1\r\nx\r\n"},
                                                        {chunks + "1;", "x"},
                                                        {chunks + "0\r\n", "X: y\r\n"}};
    for (const auto& [before, endless] : rows) {
      asio::io_context client;
      tcp::socket socket(client);
      socket.connect({asio::ip::address_v4::loopback(), door.port});
      std::string reply;
      asio::co_spawn(client, (hear(socket, reply) || drip(socket, before, endless)), [](auto&&...) {});
      client.run_for(20s);
      EXPECT_TRUE(client.stopped()) << door.name << ": " << before << "…" << endless;
      EXPECT_EQ(reply, "") << door.name << ": " << before << "…" << endless;
    }
  }
}

TEST_F(HostileRequests, ThatFallSilentEndInTime) {
  start([](RequestLimits& limits) {
    limits.pause = 100ms;
    limits.head_time = limits.body_time = 1h;
  });
  for (const Door& door : doors()) {
    const std::string head = "POST " + door.target + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const std::string& bytes : {std::string(), std::string("POST"), head, head + "Content-Length: 9\r\n\r\nurl",
                                     head + "Transfer-Encoding: chunked\r\n\r\n3\r\n"}) {
      asio::io_context client;
      tcp::socket socket(client);
      socket.connect({asio::ip::address_v4::loopback(), door.port});
      asio::write(socket, asio::buffer(bytes));
      std::string reply;
      asio::co_spawn(client, hear(socket, reply), [](const std::exception_ptr&) {});
      client.run_for(20s);
      EXPECT_TRUE(client.stopped()) << door.name << ": " << bytes;
      EXPECT_EQ(reply, "") << door.name << ": " << bytes;
    }
  }
}

/// Sends up to 64 MiB while they are accepted; returns this process's peak resident memory.
std::uint64_t most_held_while_sending(std::uint16_t port, const std::string& head, const std::string& endless) {
  asio::io_context client;
  tcp::socket socket(client);
  socket.connect({asio::ip::address_v4::loopback(), port});
  const std::string block = repeated((256U << 10U) / endless.size(), endless);
  boost::system::error_code error;
  asio::write(socket, asio::buffer(head), error);
  std::uint64_t most = resident_memory();
  for (std::size_t sent = 0; !error && sent < (64U << 20U); sent += block.size()) {
    asio::write(socket, asio::buffer(block), error);
    most = std::max(most, resident_memory());
  }
  return most;
}

// SECURITY M1: other parts of a request cost at most as much memory as a body.
TEST_F(HostileRequests, StayWithinTheirMemoryLimit) {
  start();
  for (const Door& door : doors()) {
    const std::string head = "POST " + door.target + " HTTP/1.1\r\nHost: localhost\r\n";
    const std::string chunks = head + "Transfer-Encoding: chunked\r\n\r\n";
    const std::tuple<const char*, std::string, std::string> rows[] = {
        {"an extension", chunks + "1;", "a"},
        {"a quoted extension", chunks + "1;a=\"", "b"},
        {"extensions", chunks, "1;a=" + std::string(2000, 'x') + "\r\ny\r\n"},
        {"a trailer", chunks + "0\r\nX: ", "a"},
        {"trailers", chunks + "0\r\n", "X: aaaaaaaaaa\r\n"},
        {"a size", chunks, "0"},
        {"chunks of one byte", chunks, "1\r\nx\r\n"},
        {"a field", head + "X: ", "a"},
        {"fields", head, "X: aaaaaaaaaa\r\n"},
        {"a target", "GET /", "a"},
        {"requests", "", "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"}};
    for (const auto& [name, before, endless] : rows) {
      const std::uint64_t held = resident_memory();
      const std::uint64_t most = most_held_while_sending(door.port, before, endless);
      // A body may be held whole, and twice while its buffer grows.
      EXPECT_LE(most - std::min(held, most), (test::is_sanitized ? 32U : 16U) << 20U) << door.name << ": " << name;
    }
  }
}

// A client with all its connections half open does not lock out other clients (SECURITY T33).
TEST_F(HostileRequests, ThatAreHalfOpenDoNotLockOutOthers) {
  start([](RequestLimits& limits) { limits.pause = limits.head_time = limits.body_time = 1h; });
  for (const Door& door : doors()) {
    const std::string head = "POST " + door.target + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const std::string& half : {std::string("GET /l"), head + "Content-Length: 9\r\n\r\nurl", std::string()}) {
      asio::io_context client;
      std::vector<tcp::socket> sockets;
      const std::size_t many = door.name == "admin" ? 40 : 300;
      for (std::size_t i = 0; i < many; ++i) {
        tcp::socket& socket = sockets.emplace_back(client);
        socket.connect({asio::ip::address_v4::loopback(), door.port});
        boost::system::error_code dropped;
        asio::write(socket, asio::buffer(half), dropped);
      }
      for (const char* from : {"127.0.0.1", "127.0.0.2"}) {
        for (const char* target : {"/livez", "/readyz", "/metrics"}) {
          const std::string request = std::string("GET ") + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
          EXPECT_EQ(statuses(test::say_and_hear_out(door.port, request, from)),
                    std::vector{door.name == "admin" ? 200 : 404})
              << door.name << " " << from << " " << target << " beside " << half;
        }
      }
    }
  }
}

}  // namespace
}  // namespace feedmill::hostile_requests_test
