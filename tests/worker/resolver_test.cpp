#include "worker/resolver.hpp"

#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "tests/support/await.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "worker/fetch.hpp"

namespace feedmill {
namespace {

namespace asio = boost::asio;
using test::DnsAnswer;
using test::DnsServer;
using Answer = boost::system::result<Addresses, ResolveError>;

class ResolverTest : public testing::Test {
 protected:
  ResolverOptions options() const {
    ResolverOptions result;
    result.servers = names.address();
    result.timeout = std::chrono::milliseconds(100);
    result.tries = 1;
    return result;
  }

  static auto in_a_minute() { return std::chrono::steady_clock::now() + std::chrono::minutes(1); }

  Answer ask(Resolver& resolver, const std::string& host) {
    return test::await(context, resolver.resolve(host, in_a_minute()));
  }
  Addresses found(Resolver& resolver, const std::string& host) {
    const Answer answer = ask(resolver, host);
    EXPECT_TRUE(answer) << answer.error().detail;
    return answer ? *answer : Addresses{};
  }
  Reason failed(Resolver& resolver, const std::string& host) {
    const Answer answer = ask(resolver, host);
    EXPECT_FALSE(answer);
    return answer ? Reason::none : answer.error().reason;
  }

  DnsServer names;
  asio::io_context context;
};

TEST_F(ResolverTest, FindsAddressesOfBothFamiliesInTurns) {
  Resolver resolver(context.get_executor(), options());
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"}});
  const Addresses addresses = found(resolver, "a.example");
  ASSERT_EQ(addresses.size(), 4u);
  EXPECT_EQ(addresses[0], "2001:db8::1");
  EXPECT_EQ(addresses[1].substr(0, 8), "192.0.2.");
  EXPECT_EQ(names.count("a.example"), 2u);
}

TEST_F(ResolverTest, FollowsAliases) {
  Resolver resolver(context.get_executor(), options());
  names.serve("www.example", DnsAnswer{.addresses = {"192.0.2.1"}, .cname = "cdn.example"});
  EXPECT_EQ(found(resolver, "www.example"), Addresses{"192.0.2.1"});
}

TEST_F(ResolverTest, RemembersWhatItFound) {
  Resolver resolver(context.get_executor(), options());
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1"}, .ttl = 0});  // at least min_ttl all the same
  for (int i = 0; i < 5; ++i) EXPECT_EQ(found(resolver, "a.example"), Addresses{"192.0.2.1"});
  EXPECT_EQ(resolver.queries(), 1u);
}

TEST_F(ResolverTest, HonoursShortLivesDownToTheLeast) {
  ResolverOptions brief = options();
  brief.min_ttl = brief.max_ttl = std::chrono::seconds(0);
  Resolver resolver(context.get_executor(), brief);
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1"}});
  found(resolver, "a.example");
  found(resolver, "a.example");
  EXPECT_EQ(resolver.queries(), 2u);
}

TEST_F(ResolverTest, RemembersFailuresToo) {
  Resolver resolver(context.get_executor(), options());
  names.serve("empty.example", DnsAnswer{});
  names.serve("broken.example", DnsAnswer{.rcode = 2});
  names.serve("dead.example", DnsAnswer{.silent = true});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(failed(resolver, "missing.example"), Reason::dns_not_found);
    EXPECT_EQ(failed(resolver, "empty.example"), Reason::dns_not_found);
    EXPECT_EQ(failed(resolver, "broken.example"), Reason::dns_failed);
    EXPECT_EQ(failed(resolver, "dead.example"), Reason::dns_timeout);
  }
  EXPECT_EQ(resolver.queries(), 4u);
}

TEST_F(ResolverTest, RefusesNamesThatAreNone) {
  Resolver resolver(context.get_executor(), options());
  EXPECT_EQ(failed(resolver, std::string(64, 'x') + ".example"), Reason::dns_not_found);
  EXPECT_EQ(failed(resolver, "a..example"), Reason::dns_not_found);
}

TEST_F(ResolverTest, KeepsToItsNumberOfNames) {
  ResolverOptions small = options();
  small.max_names = 2;
  Resolver resolver(context.get_executor(), small);
  names.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"192.0.2.1"}}; });
  for (const char* host : {"a.example", "b.example", "a.example", "c.example", "a.example"}) found(resolver, host);
  EXPECT_EQ(resolver.queries(), 3u);
  found(resolver, "b.example");  // was the least recently used
  EXPECT_EQ(resolver.queries(), 4u);
}

TEST_F(ResolverTest, AsksOnceForManyWhoWait) {
  Resolver resolver(context.get_executor(), options());
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1"}});
  int answered = 0;
  for (int i = 0; i < 50; ++i) {
    asio::co_spawn(context, resolver.resolve("a.example", in_a_minute()),
                   [&](std::exception_ptr, const Answer& answer) {
                     EXPECT_TRUE(answer);
                     ++answered;
                   });
  }
  context.restart();
  while (answered < 50) context.run_one();
  EXPECT_EQ(resolver.queries(), 1u);
  EXPECT_EQ(names.count("a.example"), 2u);
}

TEST_F(ResolverTest, AnswersManyNamesAFewAtATime) {
  ResolverOptions narrow = options();
  narrow.max_outstanding = 3;
  narrow.channel_queries = 10;
  narrow.timeout = std::chrono::seconds(5);
  Resolver resolver(context.get_executor(), narrow);
  names.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"192.0.2.1"}}; });
  int answered = 0;
  for (int i = 0; i < 200; ++i) {
    asio::co_spawn(context, resolver.resolve("h" + std::to_string(i) + ".example", in_a_minute()),
                   [&](std::exception_ptr, const Answer& answer) { answered += answer ? 1 : 0; });
  }
  context.restart();
  while (answered < 200) context.run_one();
  EXPECT_EQ(resolver.queries(), 200u);
  EXPECT_GE(names.source_ports().size(), 20u);  // HTTP D7
}

// HTTP D4
TEST_F(ResolverTest, LeavesDomainsAloneThatDoNotAnswer) {
  Resolver resolver(context.get_executor(), options());
  names.serve_rest([](const std::string& name) {
    return name.ends_with("good.co.uk") ? DnsAnswer{.addresses = {"192.0.2.1"}} : DnsAnswer{.silent = true};
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(failed(resolver, "h" + std::to_string(i) + ".tarpit.co.uk"), Reason::dns_timeout);
  }
  EXPECT_EQ(resolver.queries(), 3u);
  EXPECT_EQ(found(resolver, "good.co.uk").size(), 1u);  // not of the same domain
}

TEST_F(ResolverTest, EndsAtTheDeadline) {
  ResolverOptions patient = options();
  patient.timeout = std::chrono::seconds(5);
  Resolver resolver(context.get_executor(), patient);
  names.serve("slow.example", DnsAnswer{.silent = true});
  const Answer answer = test::await(
      context, resolver.resolve("slow.example", std::chrono::steady_clock::now() + std::chrono::milliseconds(50)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::dns_timeout);
}

TEST_F(ResolverTest, UnwindsWhenCancelled) {
  Resolver resolver(context.get_executor(), options());
  names.serve("slow.example", DnsAnswer{.silent = true});
  asio::cancellation_signal cancel;
  bool unwound = false;
  asio::co_spawn(context, resolver.resolve("slow.example", in_a_minute()),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr thrown, const Answer&) { unwound = thrown != nullptr; }));
  asio::post(context, [&] { cancel.emit(asio::cancellation_type::terminal); });
  context.restart();
  while (!unwound) context.run_one();
}

TEST_F(ResolverTest, MayGoWhileQueriesAreOutstanding) {
  names.serve("slow.example", DnsAnswer{.silent = true});
  {
    Resolver resolver(context.get_executor(), options());
    const Answer answer = test::await(
        context, resolver.resolve("slow.example", std::chrono::steady_clock::now() + std::chrono::milliseconds(10)));
    EXPECT_FALSE(answer);
  }
  context.restart();
  context.run();
}

TEST_F(ResolverTest, ReadsItsConfigurationAgain) {
  Resolver resolver(context.get_executor(), options());
  names.serve_rest([](const std::string&) { return DnsAnswer{.addresses = {"192.0.2.1"}}; });
  found(resolver, "a.example");
  resolver.reload();
  found(resolver, "b.example");
  EXPECT_EQ(resolver.queries(), 2u);
}

TEST_F(ResolverTest, KnowsLocalhostWithoutAskingAnybody) {
  Resolver resolver(context.get_executor(), options());
  for (const char* const name : {"localhost", "feeds.localhost"}) {
    const Addresses addresses = found(resolver, name);
    EXPECT_NE(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
    EXPECT_EQ(names.count(name), 0u);
  }
}

TEST(IsAddress, NeedsNoResolving) {
  EXPECT_TRUE(is_address("127.0.0.1"));
  EXPECT_TRUE(is_address("[::1]"));
  EXPECT_FALSE(is_address("127.0.0.1."));
  EXPECT_FALSE(is_address("example.org"));
  EXPECT_FALSE(is_address(""));
}

// Fetching by name: what was checked is what is connected to.
class FetchByNameTest : public ResolverTest {
 protected:
  Fetcher fetcher() {
    FetchOptions wanted;
    wanted.resolver = options();
    wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    return Fetcher(context.get_executor(), wanted);
  }
  std::string url(const std::string& host) { return "http://" + host + ":" + std::to_string(server.port()) + "/feed"; }
  FetchResult fetch(Fetcher& by, const std::string& address) {
    return test::await(context, by.fetch(FetchRequest{.feed_url = address, .url = address, .validators = {}}));
  }
  Reason reason(Fetcher& by, const std::string& address) {
    const FetchResult result = fetch(by, address);
    const auto* error = std::get_if<FetchError>(&result);
    EXPECT_FALSE(error != nullptr && error->sent);
    return error != nullptr ? error->reason : Reason::none;
  }

  test::HttpServer server;
};

TEST_F(FetchByNameTest, ConnectsToTheAddressFound) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  for (const std::string name : {"a.example", "a.example.", "b.example", "a.example"}) {
    names.serve(name.ends_with('.') ? name.substr(0, name.size() - 1) : name, DnsAnswer{.addresses = {"127.0.0.1"}});
    const FetchResult result = fetch(by, url(name));
    ASSERT_TRUE(std::holds_alternative<FetchResponse>(result)) << std::get<FetchError>(result).detail;
    EXPECT_EQ(std::get<FetchResponse>(result).body, "x");
  }
  EXPECT_EQ(server.requests().at(2).header("Host"), "b.example:" + std::to_string(server.port()));
}

TEST_F(FetchByNameTest, FetchesFromLocalhost) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  EXPECT_EQ(reason(by, url("localhost")), Reason::none);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(FetchByNameTest, UsesOnlyTheAddressesThatAreAllowed) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  names.serve("mixed.example", DnsAnswer{.addresses = {"10.0.0.1", "::1", "fe80::1", "169.254.169.254", "127.0.0.1"}});
  EXPECT_EQ(reason(by, url("mixed.example")), Reason::none);
  names.serve("inner.example", DnsAnswer{.addresses = {"10.0.0.1", "::1", "::ffff:127.0.0.1"}});
  EXPECT_EQ(reason(by, url("inner.example")), Reason::egress_blocked);
  names.serve("port.example", DnsAnswer{.addresses = {"127.0.0.1"}});
  EXPECT_EQ(reason(by, "http://port.example:80/"), Reason::egress_port);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(FetchByNameTest, TriesTheNextAddress) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  names.serve("two.example", DnsAnswer{.addresses = {"127.0.0.2", "127.0.0.1"}});  // nobody listens on the first
  EXPECT_EQ(reason(by, url("two.example")), Reason::none);
}

TEST_F(FetchByNameTest, NamesWhatTheNameServersSay) {
  Fetcher by = fetcher();
  EXPECT_EQ(reason(by, url("missing.example")), Reason::dns_not_found);
  names.serve("broken.example", DnsAnswer{.rcode = 2});
  EXPECT_EQ(reason(by, url("broken.example")), Reason::dns_failed);
  names.serve("dead.example", DnsAnswer{.silent = true});
  EXPECT_EQ(reason(by, url("dead.example")), Reason::dns_timeout);
}

// SECURITY T3: the answer flips with every query, and none of the connections goes astray.
TEST_F(FetchByNameTest, IsNotRebound) {
  FetchOptions wanted;
  wanted.resolver = options();
  wanted.resolver.min_ttl = wanted.resolver.max_ttl = std::chrono::seconds(0);
  wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.1/32:1024-65535"}, {}, {});
  Fetcher by(context.get_executor(), wanted);
  server.serve("/feed", test::Response{.body = "x"});
  int asked = 0;
  names.serve("flip.example", [&](const std::string&) {
    return DnsAnswer{.addresses = {++asked / 2 % 2 == 0 ? "127.0.0.1" : "127.0.0.2"}, .ttl = 0};
  });
  for (int i = 0; i < 40; ++i) {
    const Reason why = reason(by, url("flip.example"));
    EXPECT_TRUE(why == Reason::none || why == Reason::egress_blocked);
  }
}

}  // namespace
}  // namespace feedmill
