// The live stream over real sockets and a real store (OPERATIONS V1, V2, V5, SECURITY W7).
#include "worker/push_out/live_streams.hpp"

#include <atomic>
#include <fstream>
#include <future>
#include <set>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/timelines/channels.hpp"
#include "tests/storage/store_fixture.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/http_ask.hpp"
#include "tests/support/sanitized.hpp"
#include "worker/listener/listener.hpp"

namespace feedmill::test::live_streams_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string other_feed = "https://example.org/other.xml";
const std::string private_feed = "https://user:secret@example.org/private.xml";

/// A client of the live stream; reads for at most 20 s.
class Client {
 public:
  Client(const tcp::endpoint& server, const std::string& target, const std::string& more = "",
         const std::string& from = "127.0.0.1", int receive_bytes = 0)
      : socket_(*io_, tcp::v4()) {
    if (receive_bytes > 0) socket_.set_option(asio::socket_base::receive_buffer_size(receive_bytes));
    socket_.bind({asio::ip::make_address(from), 0});
    socket_.connect(server);
    const timeval patience{20, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    say("GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n");
  }

  /// Reads until `text` has arrived and returns everything received; "" and a failure if it does not arrive.
  std::string hear(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + 20s;  // heartbeats arrive in between
    for (std::size_t from = 0; heard_.find(text, from) == std::string::npos;) {
      from = heard_.size() - std::min(heard_.size(), text.size());
      if (!more() || std::chrono::steady_clock::now() > until) {
        ADD_FAILURE() << "'" << text << "' does not come, but: " << heard_.substr(0, 2'000);
        return "";
      }
    }
    return heard_;
  }
  /// Reads to the end and returns everything received.
  std::string hear_out() {
    while (more()) {
    }
    EXPECT_TRUE(ended_) << "it does not end";
    return heard_;
  }
  void say(const std::string& text) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(text), ignored);
  }
  void say_no_more() { socket_.shutdown(tcp::socket::shutdown_send); }

 private:
  bool more() {
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), 0);
    ended_ = got == 0 || (got < 0 && errno == ECONNRESET);
    if (got > 0) heard_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  std::unique_ptr<asio::io_context> io_ = std::make_unique<asio::io_context>();
  tcp::socket socket_;
  std::string heard_;
  bool ended_ = false;
};

std::string last_id(const std::string& id) {
  return "Last-Event-ID: " + id + "\r\n";
}

/// The values of `field` in the lines of a stream.
std::vector<std::string> fields(const std::string& stream, const std::string& field) {
  std::vector<std::string> values;
  for (std::size_t at = 0; (at = stream.find("\n" + field + ": ", at)) != std::string::npos;) {
    at += field.size() + 3;
    values.push_back(stream.substr(at, stream.find('\n', at) - at));
  }
  return values;
}

class LiveStreamsTest : public StoreTest {
 public:
  ~LiveStreamsTest() override { end(); }

 protected:
  void start() {
    tail.emplace(io.get_executor(), StoreOptions{.url = server.url()}, homes, memory, tail_options);
    streams.emplace(io.get_executor(), *tail, options);
    listener = Listener::open(io.get_executor(), {asio::ip::address_v4::loopback(), 0}, "").value();
    Listener::Host host;
    host.answer = [this](Visit& visit) {
      access.client = client_of(visit);
      return streams->answer(visit, access);
    };
    host.bug = [](const char* what) { ADD_FAILURE() << what; };
    asio::co_spawn(io, listener->serve({.connections = 16, .per_network = 16}, RequestLimits(), host),
                   asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr&) {}));
    const auto ended_well = [](const std::exception_ptr& thrown) { EXPECT_FALSE(thrown); };
    asio::co_spawn(io, tail->run(), ended_well);
    asio::co_spawn(io, streams->run(), ended_well);
    loop = std::thread([this] { io.run(); });
    while (on_loop([this] { return tail->newest(); }).empty()) std::this_thread::yield();
  }
  void end() {
    if (!loop.joinable()) return;
    asio::post(io, [this] {
      cancel.emit(asio::cancellation_type::all);
      streams->stop();
      tail->stop();
    });
    loop.join();
  }
  template <class Work>
  std::invoke_result_t<Work> on_loop(Work work) {
    return asio::post(io, asio::use_future(std::move(work))).get();
  }
  LiveStreams::Figures figures() {
    return on_loop([this] { return streams->figures(); });
  }
  void wait_for_open(std::size_t open) {
    while (figures().open != open) std::this_thread::yield();
  }
  Client client(const std::string& target = "/events", const std::string& more = "",
                const std::string& from = "127.0.0.1") {
    return {listener->endpoint(), target, more, from};
  }
  /// A client with an open stream: the response header has arrived.
  Client open(const std::string& target = "/events", const std::string& more = "",
              const std::string& from = "127.0.0.1") {
    Client one = client(target, more, from);
    EXPECT_THAT(one.hear("retry: 5000\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
    return one;
  }
  HttpAnswer asked(const std::string& target, const std::string& id = "") {
    HttpAsk request;
    request.url = "http://127.0.0.1:" + std::to_string(listener->endpoint().port()) + target;
    if (!id.empty()) request.headers.emplace_back("Last-Event-ID", id);
    return ask(request);
  }

  /// A feed that may be republished although it was never fetched.
  void add_public(const std::string& url = feed_url) {
    NewFeed feed;
    feed.feed_url = url;
    feed.settings = R"({"republish":"yes"})";
    ASSERT_TRUE(Feeds(store).add(std::vector{feed}));
  }
  std::string newest() { return *EventStream(store).last_seq(); }
  /// Writes one event as the scripts do; returns its id.
  std::string write(const std::string& guid, const std::string& feed = feed_url,
                    const std::string& type = "post_created", bool initial = false, std::size_t bytes = 0) {
    const std::string prev = newest();
    const std::size_t dash = prev.find('-');
    const std::string seq = prev.substr(0, dash) + "-" + std::to_string(std::stoull(prev.substr(dash + 1)) + 1);
    boost::json::object event{{"v", 1},
                              {"seq", seq},
                              {"prev", prev},
                              {"type", type},
                              {"entity_id", guid},
                              {"feed_url", feed},
                              {"guid", guid},
                              {"timestamp", 1},
                              {"initial", initial},
                              {"data", {{"title", std::string(bytes, 't')}}}};
    redis({"XADD", "stream:signals", seq, "type", type, "json", boost::json::serialize(event)});
    redis({"HSET", "meta:store", "last_signal", seq});
    return seq;
  }

  EventTail::Options tail_options;
  LiveStreams::Options options;
  LiveQuery access;
  std::function<std::optional<boost::asio::ip::address>(const Visit& visit)> client_of = [](const Visit& visit) {
    return visit.client();
  };
  asio::io_context io{1};
  asio::cancellation_signal cancel;
  StoreCalls facts{StoreOptions{.url = server.url()}};
  const FeedHomes homes = all_in(facts);
  MemoryBudget memory{std::uint64_t{1} << 30U};
  std::optional<EventTail> tail;
  std::optional<LiveStreams> streams;
  std::unique_ptr<Listener> listener;
  std::thread loop;
};

TEST_F(LiveStreamsTest, SendNewEventsInTheStandardFormat) {
  add_public();
  write("before");
  start();
  const std::string from = newest();
  Client one = open();
  const std::string id = write("one");
  const std::string heard = one.hear("\"guid\":\"one\"");
  EXPECT_THAT(heard, HasSubstr("\r\nContent-Type: text/event-stream; charset=utf-8\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nX-Accel-Buffering: no\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nAccess-Control-Allow-Origin: *\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(heard,
              HasSubstr("\r\n\r\nretry: 5000\nid: " + from + "\n\nid: " + id + "\nevent: post_created\ndata: {"));
  EXPECT_THAT(heard, Not(HasSubstr("\"before\"")));
  EXPECT_THAT(one.hear("}\n\n"), testing::EndsWith("}\n\n"));
  EXPECT_EQ(figures().events, 1U);
}

TEST_F(LiveStreamsTest, RealEventsOfRefreshesArrive) {
  start();
  Client all = open(), with_initial = open("/events?initial=1");
  add_public();
  refresh({post("first", 1)});
  with_initial.hear("\"guid\":\"first\"");
  refresh({post("first", 1), post("second", 2)});
  EXPECT_THAT(all.hear("\"guid\":\"second\""), Not(HasSubstr("\"guid\":\"first\"")));
}

// 300 events: a third is older than the tail, a third is in it, and the rest is written during the test.
TEST_F(LiveStreamsTest, ContinueAfterTheLastIdWithoutAGapOrADuplicate) {
  add_public();
  const std::string before = newest();
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(write(std::to_string(i)));
  options.page = 7;
  tail_options.records = 50;
  start();
  for (int i = 100; i < 200; ++i) ids.push_back(write(std::to_string(i)));
  std::vector<Client> clients;
  std::vector<std::size_t> places;
  for (const std::size_t place : {0U, 3U, 99U, 120U, 199U}) {
    clients.push_back(client("/events?last_event_id=1-1", last_id(place == 0 ? before : ids[place - 1])));
    places.push_back(place);
  }
  for (int i = 200; i < 300; ++i) ids.push_back(write(std::to_string(i)));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const auto heard = fields(clients[i].hear("id: " + ids.back() + "\n"), "id");
    EXPECT_EQ(heard, std::vector<std::string>(ids.begin() + static_cast<std::ptrdiff_t>(places[i]), ids.end()));
  }
}

TEST_F(LiveStreamsTest, AreGoneWithTheOldestIdWhereSomethingIsMissed) {
  add_public();
  write("a");
  const std::string oldest = write("b");
  redis({"XTRIM", "stream:signals", "MAXLEN", "1"});
  start();
  for (const char* id : {"1-1", "0-0", "9999999999999-1"}) {
    for (const bool header : {true, false}) {
      const HttpAnswer answer = header ? asked("/events", id) : asked("/events?last_event_id=" + std::string(id));
      EXPECT_EQ(answer.status, 410) << id;
      EXPECT_EQ(answer.header("Feedmill-Oldest-Event-Id"), oldest);
      EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "*");
      EXPECT_EQ(answer.header("Access-Control-Expose-Headers"), "Feedmill-Oldest-Event-Id");
      EXPECT_EQ(boost::json::parse(answer.body).at("oldest").as_string(), oldest);
    }
  }
  EXPECT_EQ(asked("/events", "x").status, 400);
  EXPECT_EQ(asked("/events?feeds=x").status, 400);
  EXPECT_EQ(figures().open, 0U);
}

TEST_F(LiveStreamsTest, ThatCannotContinueAreClosedAndNotSilent) {
  add_public();
  start();
  Client one = open();
  write("first");
  one.hear("\"guid\":\"first\"");
  // Two events; the older one is trimmed before any stream can read it.
  const std::string prev = newest(), stem = prev.substr(0, prev.find('-'));
  redis({"EVAL",
         ("redis.call('XADD', KEYS[1], ARGV[1], 'type', 'x', 'json', '{\"prev\":\"' .. ARGV[3] .. '\"}')"
          "redis.call('XADD', KEYS[1], ARGV[2], 'type', 'post_created', 'json', ARGV[4])"
          "redis.call('XTRIM', KEYS[1], 'MAXLEN', 1)"),
         "1", "stream:signals", stem + "-1000", stem + "-1001", prev,
         R"({"v":1,"type":"post_created","entity_id":"e","feed_url":"https://example.org/feed.xml","guid":"third",)"
         R"("prev":")" +
             stem + "-1000\"}"});
  EXPECT_THAT(one.hear_out(), Not(HasSubstr("third")));
  EXPECT_EQ(figures().missed, 1U);
  EXPECT_EQ(asked("/events", prev).status, 410);
}

TEST_F(LiveStreamsTest, AreOfTheFeedsChannelsAndTypesThatAreAskedFor) {
  for (const std::string& url : {feed_url, other_feed}) add_public(url);
  add(private_feed);
  ASSERT_TRUE(Channels(store).add(std::vector<std::string>{"news"}));
  ASSERT_TRUE(Channels(store).follow(std::vector<Membership>{{"news", other_feed}}));
  start();
  Client all = open(), of_feed = open("/events?feed=" + percent_encoded(feed_url)),
         of_channel = open("/events?channel=news"),
         of_both = open("/events?channel=news&feed=" + percent_encoded(feed_url) + "&type=post_deleted,post_created");
  write("private", private_feed);
  write("a");
  write("b", other_feed);
  write("inner", feed_url, "post_mended");
  write("c", feed_url, "post_modified");
  write("first import", other_feed, "post_created", true);
  write("d", other_feed, "post_deleted");
  write("end", feed_url, "post_deleted");
  write("end", other_feed, "post_deleted");
  const auto guids = [](Client& client) {
    std::vector<std::string> said;
    for (const std::string& data : fields(client.hear("\"guid\":\"end\""), "data"))
      said.emplace_back(boost::json::parse(data).at("guid").as_string());
    return said;
  };
  of_both.hear("\"guid\":\"d\"");
  all.hear("\"guid\":\"end\"");
  EXPECT_THAT(guids(of_feed), ElementsAre("a", "c", "end"));
  EXPECT_THAT(guids(of_channel), ElementsAre("b", "d", "end"));
  EXPECT_THAT(guids(of_both), testing::IsSupersetOf({"a", "b", "d", "end"}));
  EXPECT_THAT(guids(of_both), Not(testing::Contains("c")));
  EXPECT_THAT(guids(all), testing::IsSupersetOf({"a", "b", "c", "d", "end"}));
  for (const char* never : {"private", "inner", "first import"}) EXPECT_THAT(guids(all), Not(testing::Contains(never)));
  EXPECT_EQ(asked("/events?feed=" + percent_encoded(private_feed)).status, 400);
  end();
}

TEST_F(LiveStreamsTest, SendOnlyEventsThatTheClientMaySee) {
  for (const std::string& url : {feed_url, other_feed}) add_public(url);
  ASSERT_TRUE(Channels(store).add(std::vector<std::string>{"news"}));
  ASSERT_TRUE(Channels(store).follow(std::vector<Membership>{{"news", other_feed}}));
  access.only = Topic{TopicKind::feed, feed_url};
  start();
  Client one = open(), asks_for_other = open("/events?feed=" + percent_encoded(other_feed));
  on_loop([this] { access.only = Topic{TopicKind::channel, "news"}; });
  Client of_channel = open();
  on_loop([this] { access.only = {}; });
  Client all = open();
  write("a");
  write("b", other_feed);
  write("c");
  all.hear("\"guid\":\"c\"");
  EXPECT_THAT(one.hear("\"guid\":\"c\""), Not(HasSubstr("\"guid\":\"b\"")));
  EXPECT_THAT(of_channel.hear("\"guid\":\"b\""), Not(HasSubstr("\"guid\":\"a\"")));
  end();
  EXPECT_THAT(of_channel.hear_out(), Not(HasSubstr("\"guid\":\"c\"")));
  EXPECT_THAT(fields(asks_for_other.hear_out(), "data"), ElementsAre());
}

TEST_F(LiveStreamsTest, SendHeartbeatsAndAdvanceTheIdOfIdleClients) {
  add_public();
  add_public(other_feed);
  options.heartbeat = 60ms;
  start();
  Client quiet = open("/events?feed=" + percent_encoded(other_feed)), all = open();
  quiet.hear("\n\n:\n\n");
  const std::string id = write("a");
  EXPECT_THAT(quiet.hear("\n\nid: " + id + "\n\n:\n\n"), Not(HasSubstr("data:")));
  EXPECT_THAT(all.hear("\n\n:\n\n"), HasSubstr(":\n\n"));
  quiet.hear(":\n\n:\n\n:\n\n");
}

TEST_F(LiveStreamsTest, ThatAreSlowDelayNoOtherAndMissNothing) {
  add_public();
  tail_options.bytes = 256 << 10;  // a slow client falls behind the tail
  options.socket_bytes = 4096;
  start();
  std::vector<Client> slow;
  for (int i = 0; i < 5; ++i) slow.emplace_back(listener->endpoint(), "/events", "", "127.0.0.1", 4096);
  for (Client& one : slow) one.hear("retry: 5000\n");
  Client quick = open();
  std::vector<std::string> ids;
  for (int i = 0; i < 60; ++i) {
    ids.push_back(write("post" + std::to_string(i), feed_url, "post_created", false, 60'000));
    if (i % 10 == 9) quick.hear("\"guid\":\"post" + std::to_string(i) + "\"");
  }
  EXPECT_EQ(figures().open, 6U);
  ids.push_back(write("end"));
  for (Client& one : slow) {
    auto heard = fields(one.hear("\"guid\":\"end\""), "id");
    heard.erase(heard.begin());  // the id at which it began
    EXPECT_EQ(heard, ids);
    auto data = fields(one.hear("\"guid\":\"end\""), "data");
    data.pop_back();  // the last event may be incomplete
    for (const std::string& event : data) EXPECT_GT(event.size(), 60'000U);
  }
}

TEST_F(LiveStreamsTest, ThatTakeNothingAreClosed) {
  add_public();
  options.heartbeat = 60ms;
  options.patience = 200ms;
  options.socket_bytes = 4096;
  start();
  Client stuck(listener->endpoint(), "/events", "", "127.0.0.1", 4096);
  stuck.hear("retry: 5000\n");
  Client other = open();
  for (int i = 0; i < 10; ++i) write(std::to_string(i), feed_url, "post_created", false, 60'000);
  std::thread reads([&] { other.hear("\"guid\":\"9\""); });
  wait_for_open(1);
  reads.join();
  EXPECT_EQ(figures().stalled, 1U);
  EXPECT_THAT(stuck.hear_out(), Not(HasSubstr("\"guid\":\"9\"")));
  write("end");
  other.hear("\"guid\":\"end\"");
}

// SECURITY M6: counts events that the tail no longer holds; each client has received a different part of them.
TEST_F(LiveStreamsTest, ThatLagMostAreClosedWhenMemoryIsShort) {
  constexpr std::size_t bytes = 100'000;  // small socket buffers take long for more
  add_public();
  options.socket_bytes = 4096;
  options.most_left = 2 * bytes + bytes / 2;
  std::vector<std::string> ids{newest()};
  for (int i = 0; i < 3; ++i) ids.push_back(write(std::to_string(i), feed_url, "post_created", false, bytes));
  start();
  const auto stuck = [&](std::size_t place) {
    return Client(listener->endpoint(), "/events", last_id(ids[place]), "127.0.0.1", 4096);
  };
  Client first = stuck(0), second = stuck(1);
  wait_for_open(2);
  EXPECT_GE(memory.used(), 4 * bytes) << "each is held as text and as what it says";
  EXPECT_EQ(figures().stalled, 0U);
  Client third = stuck(2);
  EXPECT_TRUE(eventually([&] { return figures().stalled == 1; })) << "before the first one reads on";
  EXPECT_THAT(first.hear_out(), Not(HasSubstr("\"guid\":\"1\"")));
  EXPECT_EQ(figures().open, 2U);
  EXPECT_THAT(second.hear("\"guid\":\"2\""), HasSubstr("\"guid\":\"1\"")) << "who reads on misses nothing";
  third.hear("\"guid\":\"2\"");
  write("end");
  second.hear("\"guid\":\"end\"");
  third.hear("\"guid\":\"end\"");
  EXPECT_LT(memory.used(), bytes);
}

TEST_F(LiveStreamsTest, AreLimitedInTotalAndPerNetwork) {
  add_public();
  options.most = 3;
  options.per_network = 2;
  start();
  Client first = open();
  {
    Client second = open();
    const HttpAnswer crowded = asked("/events");
    EXPECT_EQ(crowded.status, 503);
    EXPECT_EQ(crowded.header("Retry-After"), "30");
    EXPECT_EQ(crowded.header("Access-Control-Allow-Origin"), "*");
    Client third = open("/events", "", "127.0.0.2");
    EXPECT_THAT(client("/events", "", "127.0.0.3").hear("too many streams"), StartsWith("HTTP/1.1 503"));
    EXPECT_EQ(figures().refused, 2U);
  }
  wait_for_open(1);
  Client again = open();
  EXPECT_EQ(figures().opened, 4U);
}

// SECURITY W8
TEST_F(LiveStreamsTest, CountTheClientsOfAProxyAndNotTheProxy) {
  add_public();
  options.per_network = 1;
  client_of = [](const Visit& visit) -> std::optional<boost::asio::ip::address> {
    const std::string_view address = visit.head()["X-Client"];
    if (address.empty()) return std::nullopt;  // from a proxy that is not trusted
    return boost::asio::ip::make_address(std::string(address));
  };
  start();
  const auto open_of = [&](const std::string& address) { return open("/events", "X-Client: " + address + "\r\n"); };
  const auto refused_of = [&](const std::string& address) {
    return client("/events", "X-Client: " + address + "\r\n").hear("too many streams").starts_with("HTTP/1.1 503");
  };
  Client first = open_of("192.0.2.1"), second = open_of("198.51.100.1");
  EXPECT_TRUE(refused_of("192.0.2.1"));
  Client third = open(), fourth = open();
}

// SECURITY W7
TEST_F(LiveStreamsTest, EndWhenTheirClientsLeaveOrTalk) {
  add_public();
  start();
  Client talks = open();
  talks.say("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string id = write("a");
  EXPECT_THAT(fields(talks.hear("\"guid\":\"a\""), "event"), ElementsAre("post_created"));
  talks.say(std::string(100'000, 'x'));
  wait_for_open(0);
  Client half = open();
  half.say_no_more();
  EXPECT_THAT(half.hear_out(), HasSubstr("id: " + id));
  { Client leaves = open(); }
  wait_for_open(0);
}

TEST_F(LiveStreamsTest, OutliveTheStoreAndAreRefusedWithoutIt) {
  add_public();
  options.heartbeat = 60ms;
  tail_options.look_again = options.look_again = 20ms;
  tail_options.records = 1;
  start();
  const std::string from = newest();
  Client one = open();
  write("a");
  write("b");
  one.hear("\"guid\":\"b\"");
  server.kill();
  const HttpAnswer away = asked("/events", from);
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(away.header("Retry-After"), "30");
  one.hear(":\n\n:\n\n");
  EXPECT_EQ(figures().open, 1U);
}

TEST_F(LiveStreamsTest, AreClosedWhenTheProcessStops) {
  add_public();
  start();
  Client one = open(), two = open();
  on_loop([this] { streams->stop(); });
  one.hear_out();
  two.hear_out();
  EXPECT_EQ(asked("/events").status, 503);
}

TEST_F(LiveStreamsTest, AnswerHeadWithoutAStream) {
  start();
  HttpAsk request;
  request.method = "HEAD";
  request.url = "http://127.0.0.1:" + std::to_string(listener->endpoint().port()) + "/events";
  const HttpAnswer answer = ask(request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(figures().opened, 0U);
}

// --- memory ----------------------------------------------------------------------------------------------------------

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A child process that holds `count` streams open, from many addresses, and reads only their headers. It writes "x" to
/// the pipe once all are open, and exits when the pipe is closed.
struct Holder {
  Holder() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pipe), 0);
    pid = ::fork();  // before any thread exists
    if (pid != 0) {
      ::close(pipe[1]);
      return;
    }
    ::close(pipe[0]);
    std::array<std::uint32_t, 2> order{};  // port, count
    if (::read(pipe[1], order.data(), sizeof order) != sizeof order) ::_exit(1);
    for (std::uint32_t i = 0; i < order[1]; ++i) {
      if (!hold(static_cast<std::uint16_t>(order[0]), i)) ::_exit(1);
    }
    char byte = 'x';
    if (::write(pipe[1], &byte, 1) == 1) (void)!::read(pipe[1], &byte, 1);
    ::_exit(0);
  }
  ~Holder() {
    ::close(pipe[0]);
    ::waitpid(pid, nullptr, 0);
  }
  static bool hold(std::uint16_t port, std::uint32_t number) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number / 100);
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
    const std::string request =
        "GET /events?feed=https%3A%2F%2Fexample.org%2Ffeed.xml HTTP/1.1\r\nHost: example.org\r\n"
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: text/event-stream\r\n\r\n";
    std::array<char, 4096> answer;
    return ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()) &&
           ::recv(fd, answer.data(), answer.size(), 0) > 12 &&
           std::string_view(answer.data()).starts_with("HTTP/1.1 200");
  }
  void order(std::uint16_t port, std::size_t count) const {
    const std::array<std::uint32_t, 2> said{port, static_cast<std::uint32_t>(count)};
    ASSERT_EQ(::write(pipe[0], said.data(), sizeof said), static_cast<ssize_t>(sizeof said));
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1) << "the clients have failed";
  }

  int pipe[2]{};
  pid_t pid = -1;
};

class LiveStreamsMemory : protected Holder, public LiveStreamsTest {};

TEST_F(LiveStreamsMemory, IsAtMost20KiBForEachIdleStream) {
  const std::size_t count = static_cast<std::size_t>(tries(500, 10'000, 10'000));
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < count + 200)
    GTEST_SKIP() << "needs " << count + 200 << " open files, may have " << files.rlim_max;
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  add_public();
  options.heartbeat = 1s;
  start();
  open();
  wait_for_open(0);
  const std::size_t before = resident_bytes();
  order(listener->endpoint().port(), count);
  EXPECT_EQ(figures().open, count);
  const std::string id = write("to all");
  while (figures().events < count) std::this_thread::yield();
  const std::size_t each = (resident_bytes() - before) / count;
  RecordProperty("bytes_per_idle_stream", static_cast<int>(each));
  std::printf("%zu streams: %zu bytes of resident memory each\n", count, each);
  if (is_sanitized) return;
  EXPECT_LE(each, 20U << 10U);
}

}  // namespace
}  // namespace feedmill::test::live_streams_test
