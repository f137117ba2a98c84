#include "worker/push_out/sender.hpp"

#include <functional>
#include <list>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/await.hpp"
#include "tests/support/http_server.hpp"

namespace feedmill::sender_test {
namespace {

namespace asio = boost::asio;
using test::HttpServer;
using test::Response;
using test::ServedRequest;

FetchOptions on_loopback() {
  FetchOptions options;
  options.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  return options;
}

class SenderTest : public testing::Test {
 protected:
  Subscriber receiver(const std::string& path, std::uint64_t delivered = 0) {
    Subscriber one;
    one.id = "wh_" + path;
    one.url = server.url(path);
    one.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    one.delivered = delivered;
    return one;
  }
  void tell(Subscriber one) {
    ++under_way;
    told_of.push_back(std::move(one));
    asio::co_spawn(context, sender.tell(told_of.back(), "1-1", "{}", Milliseconds(1)),
                   [this](std::exception_ptr, const Told& told) {
                     --under_way;
                     EXPECT_EQ(told.is, Told::Is::taken) << told.why;
                   });
  }
  void run_until(const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !done(); ++i) {
      context.restart();
      context.run_one_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(done());
  }

  HttpServer server;
  asio::io_context context;
  Fetcher fetcher{context.get_executor(), on_loopback()};
  MemoryBudget memory{std::uint64_t{1} << 30U};
  Sender sender{fetcher, memory, 4, std::chrono::seconds(15)};
  std::list<Subscriber> told_of;  // must outlive their deliveries
  int under_way = 0;
};

/// WEBSUB U13, U14.
TEST_F(SenderTest, GivesARetryTimeToReceiversWithoutASlot) {
  constexpr int places = 2;  // half of four, since these receivers are new
  server.serve_rest([](const ServedRequest&) { return Response{.status = 204, .hold_until = places + 1}; });
  EXPECT_EQ(sender.wait_for_place(receiver("/new")), Milliseconds(0));
  for (int i = 0; i < places; ++i) tell(receiver("/" + std::to_string(i)));
  run_until([&] { return server.requests().size() == places; });

  // Each waits longer than the ones before it, but at most 10 s.
  Milliseconds last{0};
  for (int i = 0; i < 10'000; ++i) {
    const Milliseconds wait = sender.wait_for_place(receiver("/" + std::to_string(i)));
    ASSERT_GT(wait, Milliseconds(0));
    ASSERT_GE(wait + Milliseconds(50), last) << i;
    ASSERT_LE(wait, std::chrono::milliseconds(10'001));
    last = wait;
  }
  EXPECT_GT(last, std::chrono::seconds(5));
  const Subscriber another = receiver("/another");
  const Told told = test::await(context, sender.tell(another, "1-1", "{}", Milliseconds(1)));
  EXPECT_EQ(told.is, Told::Is::not_asked);
  EXPECT_GT(told.retry_after, std::chrono::seconds(5));
  // A receiver with a good record may use the slots that new ones may not.
  EXPECT_EQ(sender.wait_for_place(receiver("/quick", 1)), Milliseconds(0));
  tell(receiver("/quick", 1));
  run_until([&] { return under_way == 0; });
}

}  // namespace
}  // namespace feedmill::sender_test
