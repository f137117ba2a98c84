#include "worker/http/resolver.hpp"

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
#include "worker/http/fetch.hpp"

namespace feedmill::resolver_test {
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

TEST_F(ResolverTest, CachesResults) {
  Resolver resolver(context.get_executor(), options());
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1"}, .ttl = 0});  // cached for min_ttl nevertheless
  for (int i = 0; i < 5; ++i) EXPECT_EQ(found(resolver, "a.example"), Addresses{"192.0.2.1"});
  EXPECT_EQ(resolver.queries(), 1u);
}

TEST_F(ResolverTest, ReportsTheResultOfEachLookUp) {
  std::vector<Lookup> told;
  ResolverOptions counted = options();
  counted.tell = [&](Lookup became, std::chrono::duration<double>) { told.push_back(became); };
  Resolver resolver(context.get_executor(), counted);
  names.serve("a.example", DnsAnswer{.addresses = {"192.0.2.1"}});
  found(resolver, "a.example");
  found(resolver, "a.example");
  failed(resolver, "nowhere.example");
  EXPECT_EQ(told, (std::vector{Lookup::ok, Lookup::cached, Lookup::not_found}));
}

TEST_F(ResolverTest, HonoursShortTtlsDownToTheMinimum) {
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
  found(resolver, "b.example");  // it was the least recently used
  EXPECT_EQ(resolver.queries(), 4u);
}

TEST_F(ResolverTest, SendsOneQueryForManyWaiters) {
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
  EXPECT_GE(names.source_ports().size(), 18u);  // HTTP D1: 20, but two may coincide
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
  EXPECT_EQ(found(resolver, "good.co.uk").size(), 1u);  // in another domain
}

// HTTP D4: redirects can lead to any name in a domain.
TEST_F(ResolverTest, SilentNamesDoNotBlockNamesThatResolved) {
  ResolverOptions brief = options();
  brief.min_ttl = brief.max_ttl = std::chrono::seconds(0);
  Resolver resolver(context.get_executor(), brief);
  names.serve_rest([](const std::string& name) {
    return name == "feeds.victim.example" ? DnsAnswer{.addresses = {"192.0.2.1"}} : DnsAnswer{.silent = true};
  });
  EXPECT_EQ(found(resolver, "feeds.victim.example").size(), 1u);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(failed(resolver, "h" + std::to_string(i) + ".victim.example"), Reason::dns_timeout);
  EXPECT_EQ(resolver.queries(), 4u) << "the circuit is open";
  EXPECT_EQ(found(resolver, "feeds.victim.example").size(), 1u);
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

TEST_F(ResolverTest, ResolvesLocalhostWithoutAQuery) {
  Resolver resolver(context.get_executor(), options());
  for (const char* const name : {"localhost", "feeds.localhost"}) {
    const Addresses addresses = found(resolver, name);
    EXPECT_NE(std::ranges::find(addresses, "127.0.0.1"), addresses.end());
    EXPECT_EQ(names.count(name), 0u);
  }
}

// HTTP D1
TEST_F(ResolverTest, LimitsConcurrentQueries) {
  ResolverOptions narrow = options();
  narrow.max_outstanding = 5;
  narrow.timeout = std::chrono::seconds(60);
  Resolver resolver(context.get_executor(), narrow);
  names.serve_rest([](const std::string&) { return DnsAnswer{.silent = true}; });
  std::size_t answered = 0;
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (int i = 0; i < 50; ++i) {
    asio::co_spawn(context, resolver.resolve("h" + std::to_string(i) + ".net", soon),
                   [&](std::exception_ptr, const Answer& answer) {
                     EXPECT_FALSE(answer);
                     ++answered;
                   });
  }
  context.restart();
  while (answered < 50) context.run_one();
  EXPECT_EQ(resolver.queries(), 5u);
}

// SECURITY T4
TEST_F(ResolverTest, SurvivesAFloodOfNamesThatDoNotExist) {
  ResolverOptions small = options();
  small.max_names = 100;
  Resolver resolver(context.get_executor(), small);
  std::size_t answered = 0;
  for (int i = 0; i < 5000; ++i) {
    asio::co_spawn(context, resolver.resolve("h" + std::to_string(i) + ".example", in_a_minute()),
                   [&](std::exception_ptr, const Answer& answer) { answered += answer ? 0 : 1; });
  }
  context.restart();
  while (answered < 5000) context.run_one();
  names.serve("good.example", DnsAnswer{.addresses = {"192.0.2.1"}});
  EXPECT_EQ(found(resolver, "good.example").size(), 1u);
}

// SECURITY T4: whatever a name server sends, the look-up ends, and never with addresses of the sender's choice.
TEST_F(ResolverTest, TakesNoWrongAnswers) {
  const std::string flags("\x81\x80", 2), one("\0\1", 2), none("\0\0", 2);
  const std::string question = std::string("\3bad\7example\0", 13) + one + one;
  const std::string pointer("\xc0\x0c", 2);
  const auto record = [&](const std::string& owner, char type, const std::string& data) {
    return owner + std::string("\0", 1) + type + one + std::string("\0\0\1\0\0", 5) + static_cast<char>(data.size()) +
           data;
  };
  const std::string address("\xc0\0\2\1", 4);  // 192.0.2.1
  const std::vector<std::pair<const char*, std::string>> wrong = {
      {"nothing but an id", "\x81"},
      {"header cut", flags + one},
      {"no question", flags + none + one + none + none + record(pointer, 1, address)},
      {"another question", flags + one + one + none + none + std::string("\4evil\7example\0", 14) + one + one +
                               record(pointer, 1, address)},
      {"more answers said than sent", flags + one + std::string("\xff\xff", 2) + none + none + question},
      {"a name that points to itself", flags + one + one + none + none + question +
                                           record(std::string("\xc0", 1) + static_cast<char>(12 + 17), 1, address)},
      {"a name that points nowhere", flags + one + one + none + none + question + record("\xff\xff", 1, address)},
      {"an address too short", flags + one + one + none + none + question + record(pointer, 1, "\xc0")},
      {"an alias of itself", flags + one + one + none + none + question + record(pointer, 5, pointer)},
      {"another's address",
       flags + one + one + none + none + question + record(std::string("\4evil\7example\0", 14), 1, address)},
      {"a query", std::string("\x01\x00", 2) + one + none + none + none + question},
      {"garbage", std::string(3000, '\xa5')},
      {"truncated", std::string("\x83\x80", 2) + one + none + none + none + question},
      {"refused", std::string("\x81\x85", 2) + one + none + none + none + question},
      {"format error", std::string("\x81\x81", 2) + one + none + none + none + question}};
  for (const auto& [name, raw] : wrong) {
    Resolver resolver(context.get_executor(), options());
    names.serve("bad.example", DnsAnswer{.raw = raw});
    const Answer answer = ask(resolver, "bad.example");
    EXPECT_FALSE(answer) << name << ": " << answer->front();
    const Reason why = answer ? Reason::none : answer.error().reason;
    EXPECT_TRUE(to_string(why).starts_with("dns.")) << name;
  }
}

// HTTP D1: a name with more addresses than a fetch needs. (Without EDNS, 512 bytes hold 29 of IPv4.)
TEST_F(ResolverTest, TakesManyAddressesInTurns) {
  Resolver resolver(context.get_executor(), options());
  DnsAnswer many;
  for (int i = 1; i <= 28; ++i) many.addresses.push_back("192.0.2." + std::to_string(i));
  for (int i = 1; i <= 15; ++i) many.addresses.push_back("2001:db8::" + std::to_string(i));
  names.serve("many.example", many);
  const Addresses addresses = found(resolver, "many.example");
  ASSERT_EQ(addresses.size(), 32u);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(addresses[i].find(':') != std::string::npos, i % 2 == 0) << i;
}

TEST(IsAddress, NeedsNoResolving) {
  EXPECT_TRUE(is_address("127.0.0.1"));
  EXPECT_TRUE(is_address("[::1]"));
  EXPECT_FALSE(is_address("127.0.0.1."));
  EXPECT_FALSE(is_address("example.org"));
  EXPECT_FALSE(is_address(""));
}

// Fetching by name: the address that was checked is the address connected to.
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

// RFC 7050: ipv4only.arpa reveals a NAT64 prefix that looks like any public network.
TEST_F(FetchByNameTest, ReachesNoPrivateAddressByTheNat64OfItsNetwork) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  names.serve("plain.example", DnsAnswer{.addresses = {"127.0.0.1"}});
  EXPECT_EQ(reason(by, url("plain.example")), Reason::none);
  EXPECT_EQ(names.count("ipv4only.arpa"), 0U) << "nobody goes to IPv6";

  names.serve("ipv4only.arpa", DnsAnswer{.addresses = {"192.0.0.170", "2a00:64::192.0.0.170", "2a00:64::192.0.0.171"}});
  names.serve("trap.example", DnsAnswer{.addresses = {"2a00:64::10.0.0.1"}});
  names.serve("metadata.example", DnsAnswer{.addresses = {"2a00:64::169.254.169.254"}});
  names.serve("mixed.example", DnsAnswer{.addresses = {"2a00:64::10.0.0.1", "127.0.0.1"}});
  EXPECT_EQ(reason(by, "http://trap.example/"), Reason::egress_blocked);
  EXPECT_EQ(reason(by, "http://metadata.example/"), Reason::egress_blocked);
  EXPECT_EQ(reason(by, "http://[2a00:64::a9fe:a9fe]/latest/"), Reason::egress_blocked);
  EXPECT_EQ(reason(by, url("mixed.example")), Reason::none) << "by the other address";
  EXPECT_EQ(names.count("ipv4only.arpa"), 2U) << "A and AAAA, once an hour";
}

TEST_F(FetchByNameTest, TriesTheNextAddress) {
  Fetcher by = fetcher();
  server.serve("/feed", test::Response{.body = "x"});
  names.serve("two.example", DnsAnswer{.addresses = {"127.0.0.2", "127.0.0.1"}});  // no listener on the first
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

// SECURITY T4, HTTP D4: names with silent servers, each in its own domain so that no circuit helps, at the same time as
// good ones.
TEST_F(FetchByNameTest, FetchesDespiteAThousandTarpits) {
  FetchOptions wanted;
  wanted.resolver = options();
  wanted.resolver.timeout = std::chrono::milliseconds(500);
  wanted.resolver.tries = 2;  // datagrams may get lost on a busy machine
  wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  wanted.max_connections = 2100;
  Fetcher by(context.get_executor(), wanted);
  server.serve("/feed", test::Response{.body = "x", .end = test::Response::End::close});
  names.serve_rest([](const std::string& name) {
    return name.starts_with("good") ? DnsAnswer{.addresses = {"127.0.0.1"}} : DnsAnswer{.silent = true};
  });
  constexpr std::size_t each = 1000;
  std::size_t good = 0, dead = 0, other = 0;
  for (std::size_t i = 0; i < each; ++i) {
    for (const std::string kind : {"tar", "good"}) {
      const std::string address = url(kind + std::to_string(i) + ".com");
      asio::co_spawn(context, by.fetch(FetchRequest{.feed_url = address, .url = address, .validators = {}}),
                     [&](std::exception_ptr, const FetchResult& result) {
                       const auto* error = std::get_if<FetchError>(&result);
                       ++(error == nullptr ? good : error->reason == Reason::dns_timeout ? dead : other);
                     });
    }
  }
  context.restart();
  while (good + dead + other < 2 * each) context.run_one();
  EXPECT_EQ(good, each);
  EXPECT_EQ(dead, each);
}

// SECURITY E3: the answer flips with every query, and no connection goes to the blocked address.
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
}  // namespace feedmill::resolver_test
