// Which connections a listener accepts, which it drops in favour of others, and how a bug in one affects the rest.
#include "worker/listener/listener.hpp"

#include <future>
#include <map>
#include <stdexcept>
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/eventually.hpp"
#include "worker/listener/client_share.hpp"

namespace feedmill::listener_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;

/// A listener that answers with the requested path; "/throw" throws, "/wait" waits until release(), "/take" takes over
/// the connection. Clients are plain blocking sockets with any loopback address.
class ListenerTest : public testing::Test {
 public:
  ~ListenerTest() override {
    asio::post(io, [this] { cancel.emit(asio::cancellation_type::all); });
    if (loop.joinable()) loop.join();
  }

 protected:
  void start() {
    limits.pause = limits.head_time = limits.body_time = 1h;  // no connection is dropped for being late
    listener = Listener::open(io.get_executor(), {asio::ip::address_v4::loopback(), 0}, "").value();
    Listener::Host host;
    host.answer = [this](Visit& visit) { return answer(visit); };
    host.bug = [this](const char* what) { bugs.emplace_back(what); };
    asio::co_spawn(io, listener->serve(places, limits, host),
                   asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
    loop = std::thread([this] { io.run(); });
  }
  asio::awaitable<HttpReply> answer(Visit& visit) {
    const std::string target(visit.head().target());
    if (target == "/throw") throw std::runtime_error("a bug of ours");
    if (target == "/aborted") throw boost::system::system_error(asio::error::operation_aborted);
    if (target == "/wait") {
      working.set_value();
      co_await released.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (target == "/take") {
      taken.push_back(visit.take_over());
      asio::write(taken.back(), asio::buffer(std::string("taken")));
      co_return HttpReply();
    }
    if (target == "/body") {
      auto refused = co_await visit.read_body();
      co_return refused.value_or(http_reply(http::status::ok));
    }
    if (target == "/parts") {
      const bool begun = co_await visit.begin(http_reply(http::status::ok));
      for (bool goes_on = begun; goes_on;) goes_on = co_await visit.write(std::string(large, 'x'));
      co_return HttpReply();
    }
    co_return http_reply(http::status::ok, "text/plain", target == "/large" ? std::string(large, 'x') : target);
  }
  void release() {
    asio::post(io, [this] { released.cancel(); });
  }
  tcp::socket connect(const char* from = "127.0.0.1") {
    tcp::socket socket(client, tcp::v4());
    socket.bind({asio::ip::make_address(from), 0});
    socket.connect(listener->endpoint());
    return socket;
  }
  /// An accepted connection that has sent the first part of its second request.
  tcp::socket half_open(const char* from = "127.0.0.1") {
    tcp::socket socket = connect(from);
    EXPECT_THAT(ask(socket, "/in"), HasSubstr("/in"));
    asio::write(socket, asio::buffer(std::string("GET /half")));
    return socket;
  }
  /// The answer; "" if the listener closes the connection instead.
  static std::string ask(tcp::socket& socket, const std::string& target) {
    boost::system::error_code error;
    asio::write(socket, asio::buffer("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"), error);
    std::string reply;
    const auto head = asio::read_until(socket, asio::dynamic_buffer(reply), "\r\n\r\n", error);
    if (error) return "";
    const std::size_t left = head + target.size() - std::min(reply.size(), head + target.size());
    asio::read(socket, asio::dynamic_buffer(reply), asio::transfer_exactly(left), error);
    return reply;
  }
  static bool is_closed(tcp::socket& socket) {
    boost::system::error_code error;
    char byte = 0;
    asio::read(socket, asio::buffer(&byte, 1), error);
    return error.failed();
  }

  static constexpr std::size_t large = 8'000'000;

  MemoryBudget memory{std::uint64_t{1} << 30U};
  Listener::Places places;
  RequestLimits limits;
  asio::io_context io{1}, client;
  asio::steady_timer released{io, asio::steady_timer::time_point::max()};
  std::promise<void> working;
  asio::cancellation_signal cancel;
  std::unique_ptr<Listener> listener;
  std::vector<std::string> bugs;
  std::vector<tcp::socket> taken;
  std::thread loop;
};

TEST_F(ListenerTest, ABugEndsOneConnectionAndFreesItsSlot) {
  places = {.connections = 2, .per_network = 2};
  start();
  for (const char* target : {"/throw", "/throw", "/throw", "/throw", "/aborted", "/aborted", "/aborted", "/aborted"}) {
    tcp::socket socket = connect();
    EXPECT_EQ(ask(socket, target), "");
  }
  tcp::socket first = connect(), second = connect();
  EXPECT_THAT(ask(first, "/a"), HasSubstr("/a"));
  EXPECT_THAT(ask(second, "/b"), HasSubstr("/b"));
  const auto told = asio::post(io, asio::use_future([this] { return bugs; })).get();
  EXPECT_EQ(told.size(), 8U);
  EXPECT_EQ(told.front(), "a bug of ours");
}

TEST_F(ListenerTest, ANewConnectionTakesThePlaceOfItsNetworksOldestIdleOne) {
  places = {.connections = 8, .per_network = 2};
  start();
  tcp::socket first = half_open(), second = half_open(), third = connect();
  EXPECT_THAT(ask(third, "/third"), HasSubstr("/third"));
  EXPECT_TRUE(is_closed(first));
  asio::write(second, asio::buffer(std::string(" HTTP/1.1\r\nHost: x\r\n\r\n")));
  boost::system::error_code error;
  std::string reply;
  asio::read_until(second, asio::dynamic_buffer(reply), "/half", error);
  EXPECT_FALSE(error) << "the younger one stays";
}

TEST_F(ListenerTest, AnotherNetworkAlwaysGetsAPlace) {
  places = {.connections = 3, .per_network = 2};
  start();
  tcp::socket other = half_open("127.0.0.2"), first = half_open(), second = half_open();
  tcp::socket newcomer = connect("127.0.0.3");
  EXPECT_THAT(ask(newcomer, "/new"), HasSubstr("/new"));
  EXPECT_TRUE(is_closed(first)) << "the oldest of the network with the most";
  asio::write(other, asio::buffer(std::string(" HTTP/1.1\r\nHost: x\r\n\r\n")));
  boost::system::error_code error;
  std::string reply;
  asio::read_until(other, asio::dynamic_buffer(reply), "/half", error);
  EXPECT_FALSE(error) << "older, but the only one of its network";
}

TEST_F(ListenerTest, ConnectionsBeingAnsweredAreNotDropped) {
  places = {.connections = 8, .per_network = 1};
  start();
  tcp::socket busy = connect();
  asio::write(busy, asio::buffer(std::string("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")));
  working.get_future().wait();
  tcp::socket second = connect();
  EXPECT_TRUE(is_closed(second));
  release();
  std::string reply;
  asio::read_until(busy, asio::dynamic_buffer(reply), "/wait");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, NewConnectionsWaitWhileAllAreBeingAnswered) {
  places = {.connections = 1, .per_network = 1};
  start();
  tcp::socket busy = connect();
  asio::write(busy, asio::buffer(std::string("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")));
  working.get_future().wait();
  std::vector<tcp::socket> others;
  for (const char* from : {"127.0.0.1", "127.0.0.2"}) {
    others.push_back(connect(from));
    asio::write(others.back(), asio::buffer(std::string("GET /other HTTP/1.1\r\nHost: x\r\n\r\n")));
  }
  // Makes sure that they were accepted: the loop polls for ready sockets between handlers.
  for (int turn = 0; turn < 20; ++turn) asio::post(io, asio::use_future([] {})).get();
  release();
  for (tcp::socket& one : others) {
    std::string reply;
    boost::system::error_code error;
    asio::read_until(one, asio::dynamic_buffer(reply), "/other", error);
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(ListenerTest, LimitsTheRequestsOfAConnection) {
  limits.requests = 3;
  start();
  tcp::socket socket = connect();
  EXPECT_THAT(ask(socket, "/1"), testing::Not(HasSubstr("Connection: close")));
  EXPECT_THAT(ask(socket, "/2"), testing::Not(HasSubstr("Connection: close")));
  EXPECT_THAT(ask(socket, "/3"), HasSubstr("Connection: close"));
  EXPECT_TRUE(is_closed(socket));
}

TEST_F(ListenerTest, ReleasedConnectionTakesNoSlotAndIsNeitherAnsweredNorClosed) {
  places = {.connections = 1, .per_network = 1};
  limits.answer_time = limits.part_time = 1ms;
  start();
  std::vector<tcp::socket> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(connect());
    asio::write(clients.back(), asio::buffer(std::string("GET /take HTTP/1.1\r\nHost: x\r\n\r\nGET /in HTTP/1.1\r\n")));
    std::string heard(5, ' ');
    asio::read(clients.back(), asio::buffer(heard));
    EXPECT_EQ(heard, "taken");
    tcp::socket other = connect();
    EXPECT_THAT(ask(other, "/other"), HasSubstr("/other"));
  }
  asio::post(io, asio::use_future([this] {
               for (tcp::socket& socket : taken) asio::write(socket, asio::buffer(std::string("later")));
             }))
      .get();
  for (tcp::socket& one : clients) {
    std::string heard(5, ' ');
    asio::read(one, asio::buffer(heard));
    EXPECT_EQ(heard, "later");
  }
}

// SECURITY M6
TEST_F(ListenerTest, HeadsBodiesAndAnswersCountUntilTheConversationIsOver) {
  limits.memory = &memory;
  start();
  const auto count = [&](const std::string& said, std::uint64_t least) {
    tcp::socket socket = connect();
    asio::write(socket, asio::buffer(said));
    EXPECT_TRUE(test::eventually([&] { return memory.used() >= least; })) << said.substr(0, 20) << memory.used();
    EXPECT_LE(memory.used(), 2 * least + (20U << 10U)) << said.substr(0, 20);
    socket.close();
    EXPECT_TRUE(test::eventually([&] { return memory.used() == 0; })) << said.substr(0, 20) << memory.used();
  };
  count("GET /x HTTP/1.1\r\nHost: x\r\nA: " + std::string(12'000, 'a'), 12'000);
  count("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 8000\r\n\r\n" + std::string(7'000, 'a'), 7'000);
  count("GET /large HTTP/1.1\r\nHost: x\r\n\r\n", large);
  count("GET /parts HTTP/1.1\r\nHost: x\r\n\r\n", large);
}

// SECURITY W1
TEST(ClientNetwork, IsAnIPv4AddressOrA64) {
  const auto of = [](const char* address) { return client_network(asio::ip::make_address(address)).to_string(); };
  EXPECT_EQ(of("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(of("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(of("2001:db8:1:2::"), "2001:db8:1:2::");
  EXPECT_EQ(of("2001:db8:1:3::1"), "2001:db8:1:3::");
  EXPECT_EQ(of("::1"), "::");
}

}  // namespace
}  // namespace feedmill::listener_test
