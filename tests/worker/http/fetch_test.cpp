#include "worker/http/fetch.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/support/await.hpp"
#include "tests/support/http_server.hpp"
#include "worker/http/request_style.hpp"

namespace feedmill::fetch_test {
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

Response redirect(int status, std::string location) {
  return Response{.status = status, .headers = {{"Location", std::move(location)}}};
}

class FetchTest : public testing::Test {
 protected:
  FetchRequest request(const std::string& url) { return FetchRequest{.feed_url = url, .url = url, .validators = {}}; }

  FetchResult fetch(FetchRequest asked) { return test::await(context, fetcher.fetch(std::move(asked))); }
  FetchResult fetch(const std::string& path) { return fetch(request(server.url(path))); }

  FetchResponse answer(FetchResult result) {
    if (const auto* error = std::get_if<FetchError>(&result)) {
      ADD_FAILURE() << "no answer: " << error->detail;
      return {};
    }
    return std::get<FetchResponse>(std::move(result));
  }
  FetchResponse answer(const std::string& path) { return answer(fetch(path)); }

  FetchError error(FetchResult result) {
    if (const auto* response = std::get_if<FetchResponse>(&result)) {
      ADD_FAILURE() << "an answer: " << response->status;
      return {};
    }
    return std::get<FetchError>(std::move(result));
  }
  FetchError error(const std::string& path) { return error(fetch(path)); }

  HttpServer server;
  asio::io_context context;
  Fetcher fetcher{context.get_executor(), on_loopback()};
};

TEST_F(FetchTest, SendsTheGoldenRequest) {
  server.serve("/feed.xml", Response{.body = "<rss/>"});
  EXPECT_EQ(answer("/feed.xml?a=b").body, "<rss/>");
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(server.requests().at(0).head,
            "GET /feed.xml?a=b HTTP/1.1\r\n"
            "Host: " +
                address + "\r\n" + "User-Agent: " + user_agent("", "http://" + address + "/feed.xml?a=b") +
                "\r\n"
                "Accept: application/atom+xml,application/rss+xml,application/xml,text/xml,*/*;q=0.1\r\n"
                "Accept-Encoding: gzip, br, zstd\r\n"
                "\r\n");
}

TEST_F(FetchTest, KeepsTheHeadOfARequestShort) {
  FetchOptions options = on_loopback();
  options.contact = "https://example.org/";
  Fetcher named(context.get_executor(), options);
  server.serve("/feed.xml", Response{.body = "<rss/>"});
  answer(test::await(context, named.fetch(request(server.url("/feed.xml")))));
  const std::string address = "127.0.0.1:" + std::to_string(server.port()), usual = "example.org";
  EXPECT_LE(server.requests().at(0).head.size() - address.size() + usual.size(), 250U);
}

TEST(UserAgent, NamesTheFeedAndTheContact) {
  // XXH3-64 of the URL, seed 0
  EXPECT_EQ(user_agent("", "https://example.org/feed.xml"), "feedmill/" FEEDMILL_VERSION " (feed-id=2d79a723d51ae45e)");
  EXPECT_EQ(user_agent("https://op.example/bot", "https://example.org/feed.xml"),
            "feedmill/" FEEDMILL_VERSION " (+https://op.example/bot; feed-id=2d79a723d51ae45e)");
}

TEST_F(FetchTest, BringsBackStatusHeadersAndBody) {
  server.serve("/feed.xml",
               Response{.headers = {{"Content-Type", "application/rss+xml"}, {"X-Two", "first"}, {"X-Two", "second"}},
                        .body = "<rss/>",
                        .etag = "\"a\""});
  const FetchResponse response = answer("/feed.xml");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.url, server.url("/feed.xml"));
  EXPECT_EQ(response.header("content-type"), "application/rss+xml");
  EXPECT_EQ(response.header("x-two"), "first");
  EXPECT_EQ(response.header("x-three"), "");
  EXPECT_EQ(response.validators(), (Validators{"\"a\"", "", server.url("/feed.xml")}));
  EXPECT_EQ(response.hops, (std::vector<Hop>{{server.url("/feed.xml"), 200, ""}}));
  EXPECT_FALSE(response.conditional);
  EXPECT_TRUE(response.opened_by_allow);
  EXPECT_GT(response.wire_bytes, response.body.size());
}

TEST_F(FetchTest, BringsBackErrorsOfTheServerAsAnswers) {
  for (const int status : {204, 400, 401, 403, 404, 410, 429, 451, 500, 503}) {
    server.serve("/feed.xml", Response{.status = status, .headers = {{"Retry-After", "7"}}});
    const FetchResponse response = answer("/feed.xml");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.header("retry-after"), "7");
  }
}

// HTTP P1: validators are sent back byte for byte, whatever they look like.
TEST_F(FetchTest, SendsValidatorsByteExact) {
  const std::vector<std::string> etags = {"\"abc\"",
                                          "W/\"abc\"",
                                          "w/\"abc\"",
                                          "abc",
                                          "\"\"",
                                          "W/",
                                          "\"a b\"",
                                          "\"a,b\"",
                                          "\"a\\\"b\"",
                                          "'abc'",
                                          "*",
                                          "\"abc",
                                          "abc\"",
                                          "\"\"abc\"\"",
                                          "W/ \"abc\"",
                                          "\"\xe9t\xe9\"",
                                          "\"\xc3\xa9\"",
                                          "\"abc-gzip\"",
                                          "\"abc;gzip\"",
                                          "0",
                                          "-1",
                                          "null",
                                          "{\"v\":1}",
                                          "\"<>&\"",
                                          "W/\"abc\", W/\"def\"",
                                          "\"100%\"",
                                          "a:b",
                                          "\"" + std::string(1000, 'x') + "\""};
  const std::vector<std::string> dates = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                          "Sunday, 06-Nov-94 08:49:37 GMT",
                                          "Sun Nov  6 08:49:37 1994",
                                          "Sun, 06 Nov 1994 08:49:37 +0000",
                                          "sun, 6 nov 1994 8:49:37 gmt",
                                          "2024-01-01T00:00:00Z",
                                          "0",
                                          "never",
                                          "1700000000"};
  const std::string url = server.url("/feed.xml");
  server.serve("/feed.xml", Response{});
  for (std::size_t i = 0; i < etags.size(); ++i) {
    FetchRequest asked = request(url);
    asked.validators = Validators{etags[i], dates[i % dates.size()], url};
    EXPECT_TRUE(answer(fetch(asked)).conditional);
    const std::string head = server.requests().back().head;
    EXPECT_NE(head.find("\r\nIf-None-Match: " + etags[i] + "\r\n"), head.npos) << etags[i];
    EXPECT_NE(head.find("\r\nIf-Modified-Since: " + dates[i % dates.size()] + "\r\n"), head.npos) << head;
  }
}

TEST_F(FetchTest, DropsValidatorsThatCannotBeSent) {
  const std::string url = server.url("/feed.xml");
  server.serve("/feed.xml", Response{});
  FetchRequest asked = request(url);
  asked.validators = Validators{"\"a\"\r\nX-Evil: 1", std::string(1025, 'd'), url};
  EXPECT_FALSE(answer(fetch(asked)).conditional);
  EXPECT_EQ(server.requests().back().header("If-None-Match"), "");
  EXPECT_EQ(server.requests().back().header("If-Modified-Since"), "");
  EXPECT_EQ(server.requests().back().header("X-Evil"), "");
}

TEST_F(FetchTest, GetsNotModified) {
  const std::string url = server.url("/feed.xml");
  server.serve("/feed.xml",
               Response{.body = "<rss/>", .etag = "\"a\"", .last_modified = "Sun, 06 Nov 1994 08:49:37 GMT"});
  FetchRequest asked = request(url);
  asked.validators = answer(fetch(asked)).validators();
  const FetchResponse again = answer(fetch(asked));
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_TRUE(again.conditional);
  EXPECT_EQ(again.validators(), asked.validators);
}

// HTTP P3
TEST_F(FetchTest, SendsValidatorsOnlyToTheirUrl) {
  server.serve("/old", redirect(302, "/new"));
  server.serve("/new", Response{.body = "<rss/>", .etag = "\"new\""});
  FetchRequest asked = request(server.url("/old"));
  asked.validators = Validators{"\"new\"", "", server.url("/new")};
  EXPECT_EQ(answer(fetch(asked)).status, 304);
  EXPECT_EQ(server.requests().at(0).header("If-None-Match"), "");
  EXPECT_EQ(server.requests().at(1).header("If-None-Match"), "\"new\"");

  server.serve("/old", redirect(302, "/newer"));
  server.serve("/newer", Response{.body = "<rss/>"});
  const FetchResponse moved = answer(fetch(asked));
  EXPECT_EQ(moved.status, 200);
  EXPECT_FALSE(moved.conditional);
  EXPECT_EQ(server.requests().at(3).header("If-None-Match"), "");
}

TEST_F(FetchTest, FollowsAllFiveRedirectCodes) {
  server.serve("/here", Response{.body = "here"});
  for (const int status : {301, 302, 303, 307, 308}) {
    server.serve("/from", redirect(status, "/here#fragment"));
    const FetchResponse response = answer("/from");
    EXPECT_EQ(response.body, "here");
    EXPECT_EQ(response.url, server.url("/here"));
    EXPECT_EQ(response.hops,
              (std::vector<Hop>{{server.url("/from"), status, server.url("/here")}, {server.url("/here"), 200, ""}}));
  }
}

TEST_F(FetchTest, FollowsAtMostFiveRedirects) {
  for (int i = 1; i <= 6; ++i) server.serve("/" + std::to_string(i), redirect(302, std::to_string(i - 1)));
  server.serve("/0", Response{.body = "end"});
  for (int hops = 1; hops <= 5; ++hops) EXPECT_EQ(answer("/" + std::to_string(hops)).body, "end");
  const FetchError refused = error("/6");
  EXPECT_EQ(refused.reason, Reason::redirect_limit);
  EXPECT_EQ(refused.hops.size(), 6u);
  EXPECT_TRUE(refused.sent);
}

// HTTP §10: six hops with a header of 128 KiB each; only the last header is kept.
TEST_F(FetchTest, AChainTakesOneHeaderAHop) {
  const HttpClientOptions caps;
  constexpr std::size_t hops = 6;
  Response full;
  full.body = "body";
  for (std::size_t i = 0; i + 12 < caps.max_header_lines; ++i) full.headers.emplace_back("X", std::string(245, 'x'));
  const auto serve = [&](std::size_t last) {
    for (std::size_t i = 0; i < last; ++i) {
      Response leads = full;
      leads.status = 302;
      leads.headers.emplace_back("Location", "/" + std::to_string(i + 1));
      server.serve("/" + std::to_string(i), leads);
    }
    server.serve("/" + std::to_string(last), full);
  };
  const auto within = [&](std::uint64_t wire_bytes) {
    EXPECT_LE(wire_bytes, hops * (caps.max_header_bytes + full.body.size()));
    EXPECT_GE(wire_bytes, hops * caps.max_header_bytes * 9 / 10) << "the test is about full headers";
  };
  serve(hops - 1);
  const FetchResponse response = answer("/0");
  within(response.wire_bytes);
  EXPECT_LE(response.headers.size(), caps.max_header_lines);
  serve(hops);
  const FetchError refused = error("/0");
  EXPECT_EQ(refused.reason, Reason::redirect_limit);
  EXPECT_LE(refused.headers.size(), caps.max_header_lines);
  within(refused.wire_bytes);
  EXPECT_EQ(server.count("/6"), 0u);
  // A larger header ends the chain at its hop.
  Response more = redirect(302, "/4");
  for (std::size_t i = 0; i < std::size_t{2} * caps.max_header_lines; ++i)
    more.headers.emplace_back("X", std::string(245, 'x'));
  server.serve("/3", more);
  const std::size_t asked = server.count("/4");
  const FetchError cut = error("/0");
  EXPECT_EQ(cut.reason, Reason::limit_header);
  EXPECT_LE(cut.wire_bytes, hops * caps.max_header_bytes);
  EXPECT_EQ(server.count("/4"), asked);
}

TEST_F(FetchTest, SeesLoops) {
  server.serve("/a", redirect(302, "/b"));
  server.serve("/b", redirect(301, "/a"));
  server.serve("/self", redirect(302, "/self#again"));
  EXPECT_EQ(error("/a").reason, Reason::redirect_loop);
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(error("/self").reason, Reason::redirect_loop);
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(FetchTest, RefusesRedirectsThatLeadNowhere) {
  const std::vector<std::string> locations = {"file:///etc/passwd",
                                              "gopher://127.0.0.1/",
                                              "ftp://127.0.0.1/x",
                                              "javascript:alert(1)",
                                              "data:text/xml,x",
                                              "\\\\127.0.0.1\\x",
                                              "http:\\\\127.0.0.1\\",
                                              "/a\\b",
                                              "http://user:pw@127.0.0.1/",
                                              "http://user@127.0.0.1/",
                                              "http://[::1",
                                              "http://127.0.0.1:99999/",
                                              "http://",
                                              ("/a\x01"
                                               "b"),
                                              "/" + std::string(2048, 'x')};
  for (const std::string& location : locations) {
    server.serve("/from", redirect(302, location));
    const FetchError refused = error("/from");
    EXPECT_EQ(refused.reason, Reason::redirect_invalid) << location;
    EXPECT_EQ(refused.status, 302);
  }
  EXPECT_EQ(server.requests().size(), locations.size());
}

TEST_F(FetchTest, RefusesOtherAnswersOfTheRedirectClass) {
  for (const int status : {300, 301, 305, 306, 308, 399}) {
    server.serve("/from", Response{.status = status, .headers = {{"Retry-After", "120"}}});
    const FetchError refused = error("/from");
    EXPECT_EQ(refused.reason, Reason::redirect_invalid) << status;
    EXPECT_EQ(refused.status, status);
    EXPECT_EQ(field(refused.headers, "retry-after"), "120");
  }
}

// SECURITY E4
TEST_F(FetchTest, RefusesRedirectsToBlockedAddresses) {
  for (const std::string target : {"http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]:8080/",
                                   "//192.168.0.1/", "http://0x0a000001/", "http://0/", "http://[::ffff:10.0.0.1]/"}) {
    for (const int status : {301, 302, 303, 307, 308}) {
      server.serve("/from", redirect(status, target));
      const FetchError refused = error("/from");
      EXPECT_EQ(refused.reason, Reason::egress_blocked) << target;
      EXPECT_EQ(refused.hops.size(), 1u);
    }
  }
  server.serve("/from", redirect(302, "http://127.0.0.1:6667/"));
  const FetchError refused = error("/from");
  EXPECT_EQ(refused.reason, Reason::egress_port);
  EXPECT_EQ(refused.status, 302) << "somebody has answered";
  EXPECT_TRUE(refused.sent);
}

// HTTP P9: a Retry-After of up to 10 s is waited out before the next hop; a longer one ends the poll.
TEST_F(FetchTest, ObeysRetryAfterBeforeTheNextHop) {
  server.serve("/feed", Response{.body = "x"});
  const auto with = [](int status, std::string rest) {
    return Response{.status = status, .headers = {{"Location", "/feed"}, {"Retry-After", std::move(rest)}}};
  };
  for (const int status : {301, 302, 303, 307, 308}) {
    for (const std::string rest : {"11", "3600", "999999999", "Fri, 31 Dec 2100 23:59:59 GMT"}) {
      const std::size_t before = server.count("/feed");
      server.serve("/from", with(status, rest));
      const FetchError put_off = error("/from");
      EXPECT_EQ(put_off.reason, Reason::http_unexpected) << rest;
      EXPECT_EQ(put_off.status, status);
      EXPECT_EQ(field(put_off.headers, "retry-after"), rest) << "it is the feed's not_before";
      EXPECT_EQ(server.count("/feed"), before) << status << " " << rest;
    }
    for (const std::string rest : {"0", "-5", "soon", "Fri, 31 Dec 1999 23:59:59 GMT"}) {
      server.serve("/from", with(status, rest));
      EXPECT_EQ(answer("/from").body, "x") << rest;
    }
  }
  server.serve("/from", with(302, "1"));
  const auto from = std::chrono::steady_clock::now();
  EXPECT_EQ(answer("/from").body, "x");
  EXPECT_GE(std::chrono::steady_clock::now() - from, std::chrono::seconds(1));

  FetchOptions options = on_loopback();
  options.wall = std::chrono::seconds(2);
  Fetcher hasty(context.get_executor(), options);
  server.serve("/from", with(302, "5"));
  const FetchError put_off = error(test::await(context, hasty.fetch(request(server.url("/from")))));
  EXPECT_EQ(put_off.reason, Reason::http_unexpected) << "the wall clock ends before that";
}

// HTTP P16, R4
TEST_F(FetchTest, SendsCookiesBackWithinAChainOnly) {
  server.serve(
      "/start",
      Response{.status = 302,
               .headers = {{"Location", "/wall"}, {"Set-Cookie", "id=1; Path=/; HttpOnly"}, {"Set-Cookie", "b=2"}}});
  server.serve("/wall", [](const ServedRequest& asked) {
    return asked.header("Cookie") == "id=1; b=2" ? Response{.body = "welcome"} : redirect(302, "/start");
  });
  EXPECT_EQ(answer("/start").body, "welcome");
  EXPECT_EQ(server.requests().at(0).header("Cookie"), "");
  EXPECT_EQ(answer("/start").body, "welcome");
  EXPECT_EQ(server.requests().at(2).header("Cookie"), "");
}

TEST_F(FetchTest, AsksAgainWhenOnlyTheCookiesDiffer) {
  server.serve("/feed", [](const ServedRequest& asked) {
    if (!asked.header("Cookie").empty()) return Response{.body = "in"};
    return Response{.status = 302, .headers = {{"Location", "/feed"}, {"Set-Cookie", "seen=1"}}};
  });
  EXPECT_EQ(answer("/feed").body, "in");
}

TEST_F(FetchTest, SendsNoCookiesToOtherServers) {
  HttpServer other;
  other.serve("/", Response{.body = "other"});
  server.serve("/from", Response{.status = 302, .headers = {{"Location", other.url("/")}, {"Set-Cookie", "secret=1"}}});
  EXPECT_EQ(answer("/from").body, "other");
  EXPECT_EQ(other.requests().at(0).header("Cookie"), "");
  EXPECT_EQ(other.requests().at(0).header("Referer"), "");
}

TEST_F(FetchTest, ForgetsMoreCookiesThanItCarries) {
  server.serve("/from", Response{.status = 302,
                                 .headers = {{"Location", "/to"},
                                             {"Set-Cookie", "big=" + std::string(4090, 'x')},
                                             {"Set-Cookie", "a=1"},
                                             {"Set-Cookie", "more=" + std::string(100, 'y')}}});
  server.serve("/to", Response{});
  answer("/from");
  EXPECT_EQ(server.requests().at(1).header("Cookie").size(), 4094u + 5u);
}

TEST_F(FetchTest, RetriesAMisdirectedRequestOnceOnAFreshConnection) {
  server.serve("/feed", Response{.status = 421});
  EXPECT_EQ(answer("/feed").status, 421);
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_NE(server.requests()[0].connection, server.requests()[1].connection);
}

// HTTP H6
TEST_F(FetchTest, AsksForPermissionOnceARedirectLeavesTheServer) {
  server.serve("/feed.xml", redirect(302, server.url("/near.xml")));
  server.serve("/near.xml", redirect(301, server.url("localhost", "/far.xml")));
  server.serve("/far.xml", redirect(302, server.url("localhost", "/end.xml")));
  server.serve("/end.xml", redirect(302, server.url("/back.xml")));
  server.serve("/back.xml", Response{.body = "<rss/>"});
  std::vector<std::string> urls;
  std::size_t allowed = 3;
  FetchRequest asked = request(server.url("/feed.xml"));
  asked.enter_server = [&](std::string url) -> asio::awaitable<bool> {
    urls.push_back(std::move(url));
    co_return urls.size() <= allowed;
  };
  EXPECT_EQ(answer(fetch(asked)).body, "<rss/>");
  const std::vector<std::string> all{server.url("localhost", "/far.xml"), server.url("localhost", "/end.xml"),
                                     server.url("/back.xml")};
  EXPECT_EQ(urls, all) << "also where it was before";
  urls.clear();
  allowed = 0;
  const FetchError refused = error(fetch(asked));
  EXPECT_EQ(refused.reason, Reason::worker_host_wait);
  EXPECT_EQ(refused.status, 301);
  EXPECT_TRUE(refused.sent);
  EXPECT_EQ(server.count("/far.xml"), 1U) << "it was not asked again";
}

TEST_F(FetchTest, AsksForNoCodingWhenTold) {
  server.serve("/feed", Response{});
  FetchRequest asked = request(server.url("/feed"));
  asked.identity = true;
  answer(fetch(asked));
  EXPECT_EQ(server.requests().at(0).header("Accept-Encoding"), "identity");
}

TEST_F(FetchTest, ReusesItsConnections) {
  server.serve("/from", redirect(301, "/feed"));
  server.serve("/feed", Response{.body = "x"});
  for (int i = 0; i < 25; ++i) {
    const FetchResponse response = answer("/from");
    EXPECT_EQ(response.connections_new, i == 0 ? 1u : 0u);
    EXPECT_EQ(response.connections_reused, i == 0 ? 1u : 2u);
  }
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(FetchTest, OneClockRunsOverAllHops) {
  FetchOptions options = on_loopback();
  options.wall = std::chrono::milliseconds(300);
  Fetcher hasty(context.get_executor(), options);
  server.serve("/from", redirect(302, "/hang"));
  server.serve("/hang", Response{.raw = "HTTP/1.1 200 OK\r\n", .end = Response::End::hang});
  const FetchError refused = error(test::await(context, hasty.fetch(request(server.url("/from")))));
  EXPECT_EQ(refused.reason, Reason::http_timeout);
  EXPECT_EQ(refused.hops.size(), 1u);
  EXPECT_TRUE(refused.sent);
}

// The concurrency is real: the server answers no request before all have arrived.
TEST_F(FetchTest, AThousandFetchesAreInFlightAtOnce) {
  constexpr std::size_t many = 1000;
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_cur < 2 * many + 100) GTEST_SKIP() << "needs " << 2 * many + 100 << " file descriptors";
  FetchOptions options = on_loopback();
  options.max_connections = many + 16;
  Fetcher wide(context.get_executor(), options);
  server.serve_rest([](const ServedRequest&) { return Response{.body = "x", .hold_until = many}; });
  std::size_t answered = 0;
  for (std::size_t i = 0; i < many; ++i) {
    asio::co_spawn(context, wide.fetch(request(server.url("/gen/" + std::to_string(i) + ".xml"))),
                   [&](std::exception_ptr thrown, FetchResult result) {
                     EXPECT_FALSE(thrown);
                     answered += std::holds_alternative<FetchResponse>(result);
                   });
  }
  context.restart();
  context.run();
  EXPECT_EQ(answered, many);
  EXPECT_EQ(server.connections(), many);
}

TEST_F(FetchTest, UnwindsWhenCancelled) {
  server.serve("/from", redirect(302, "/hang"));
  server.serve("/hang",
               Response{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .end = Response::End::hang});
  asio::cancellation_signal cancel;
  bool unwound = false;
  asio::co_spawn(context, fetcher.fetch(request(server.url("/from"))),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown, const FetchResult&) {
                   unwound = thrown != nullptr;
                 }));
  context.restart();
  while (server.count("/hang") == 0) context.run_one();
  cancel.emit(asio::cancellation_type::terminal);
  while (!unwound) context.run_one();

  server.serve("/after", Response{.body = "still well"});
  EXPECT_EQ(answer("/after").body, "still well");
}

}  // namespace
}  // namespace feedmill::fetch_test
