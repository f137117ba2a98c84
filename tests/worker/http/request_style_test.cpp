// How an operator's settings change the requests that are sent (HTTP P19, R4, H7; SECURITY E8, E9, K2).
#include "worker/http/request_style.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "tests/support/await.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/proxy_server.hpp"

namespace feedmill::request_style_test {
namespace {

namespace asio = boost::asio;
using test::HttpServer;
using test::Response;
using test::ServedRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string accept_line =
    "Accept: application/atom+xml,application/rss+xml,application/xml,text/xml,*/*;q=0.1\r\n";
const std::string coding_line = "Accept-Encoding: gzip, br, zstd\r\n";

TEST(UserAgent, StaysHonestWhateverIsSet) {
  EXPECT_EQ(user_agent("https://op.example/bot", "https://example.org/feed.xml", "AcmeReader/2.1", 17),
            "AcmeReader/2.1 feedmill/" FEEDMILL_VERSION
            " (+https://op.example/bot; 17 subscribers; feed-id=2d79a723d51ae45e)");
  EXPECT_EQ(user_agent("", "https://example.org/feed.xml", "", 0),
            "feedmill/" FEEDMILL_VERSION " (0 subscribers; feed-id=2d79a723d51ae45e)");
}

class RequestStyleTest : public testing::Test {
 protected:
  RequestStyleTest() {
    options.egress = loopback();
    options.policies["closed"] = EgressPolicy();
    options.policies["open"] = loopback();
    options.credentials["news"] = {origin_of(server.url("/")), "Authorization: Basic czNjcmV0"};
    options.credentials["elsewhere"] = {origin_of(other.url("/")), "X-Api-Key: c4nary"};
    names.serve_rest([](const std::string&) { return test::DnsAnswer{.addresses = {"127.0.0.1"}}; });
    options.resolver.servers = names.address();
    for (HttpServer* each : {&server, &other}) {
      each->serve("/feed", Response{.body = "x"});
    }
  }

  static EgressPolicy loopback() {
    return *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
  }

  /// A request for a feed with these settings.
  FetchRequest feed(const std::string& url, const std::vector<std::string>& settings) {
    FetchRequest request{.feed_url = url, .url = url, .validators = {}, .settings = {}};
    for (const std::string& one : settings) EXPECT_EQ(change_setting(request.settings, one), "") << one;
    return request;
  }
  FetchResult fetch(FetchRequest request) {
    if (!fetcher) fetcher = std::make_unique<Fetcher>(context.get_executor(), options);
    return test::await(context, fetcher->fetch(std::move(request)));
  }
  FetchResponse answer(FetchRequest request) {
    FetchResult result = fetch(std::move(request));
    if (const auto* error = std::get_if<FetchError>(&result)) {
      ADD_FAILURE() << "no answer: " << error->detail;
      return {};
    }
    return std::get<FetchResponse>(std::move(result));
  }
  FetchError error(FetchRequest request) {
    FetchResult result = fetch(std::move(request));
    if (const auto* response = std::get_if<FetchResponse>(&result)) {
      ADD_FAILURE() << "an answer: " << response->status;
      return {};
    }
    return std::get<FetchError>(std::move(result));
  }
  /// The complete request expected by server `to`; `more`: further header lines.
  std::string golden(const HttpServer& to, const std::string& agent, const std::string& more = "",
                     const std::string& accept = accept_line) {
    return "GET /feed HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(to.port()) + "\r\nUser-Agent: " + agent + "\r\n" +
           accept + more + coding_line + "\r\n";
  }

  HttpServer server, other;
  test::DnsServer names;
  asio::io_context context;
  FetchOptions options;
  std::unique_ptr<Fetcher> fetcher;
};

TEST_F(RequestStyleTest, SendsGoldenRequestsForEachSetting) {
  options.subscribers = true;
  options.contact = "https://op.example/bot";
  const std::string url = server.url("/feed"), agent = user_agent(options.contact, url);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, golden(server, agent)},
      {{"auth=news"}, golden(server, agent, "Authorization: Basic czNjcmV0\r\n")},
      {{"auth=elsewhere"}, golden(server, agent)},
      {{"header.Accept-Language=de, en;q=0.5", "header.X-Client=a=b"},
       golden(server, agent, "Accept-Language: de, en;q=0.5\r\nX-Client: a=b\r\n")},
      {{"header.accept=application/rss+xml"}, golden(server, agent, "accept: application/rss+xml\r\n", "")},
      {{"user_agent=AcmeReader/2.1"}, golden(server, user_agent(options.contact, url, "AcmeReader/2.1"))},
      {{"subscribers=17"}, golden(server, user_agent(options.contact, url, "", 17))},
      {{"policy=open"}, golden(server, agent)},
      {{"http_version=1.1"}, golden(server, agent)},
      {{"keep=3", "interval_min=1h", "html_policy=raw"}, golden(server, agent)},
  };
  for (const auto& [settings, expected] : cases) {
    answer(feed(url, settings));
    EXPECT_EQ(server.requests().back().head, expected) << testing::PrintToString(settings);
  }
}

// SECURITY K7.
TEST_F(RequestStyleTest, SendsALoginToItsOriginAlone) {
  server.serve("/away", Response{.status = 302, .headers = {{"Location", other.url("/return")}}});
  other.serve("/return", Response{.status = 302, .headers = {{"Location", server.url("/feed")}}});
  FetchRequest request = feed(server.url("/away"), {"auth=reader/paper"});
  request.login = Credential{origin_of(server.url("/")), "X-Key: c4nary"};
  answer(request);
  ASSERT_EQ(server.requests().size(), 2U);
  for (const ServedRequest& hop : server.requests()) EXPECT_EQ(hop.header("X-Key"), "c4nary");
  ASSERT_EQ(other.requests().size(), 1U);
  EXPECT_THAT(other.requests().front().head, Not(HasSubstr("c4nary")));
  // On a host of another program, under the same name as a configured secret, or through a proxy that it set.
  FetchRequest stranger = feed(other.url("/feed"), {"auth=reader/paper"});
  stranger.login = request.login;
  answer(stranger);
  EXPECT_THAT(other.requests().back().head, Not(HasSubstr("c4nary")));
  test::ProxyServer proxy;
  options.proxy_enforces_egress = true;
  fetcher.reset();
  const std::string its = "proxy=http://127.0.0.1:" + std::to_string(proxy.port());
  FetchRequest proxied = feed(server.url("/feed"), {"auth=reader/paper", its});
  proxied.login = request.login;
  const FetchError refused = error(proxied);
  EXPECT_EQ(refused.reason, Reason::status_auth);
  EXPECT_THAT(refused.detail, HasSubstr("remove its setting proxy"));
  EXPECT_FALSE(refused.sent);
  EXPECT_EQ(server.requests().size(), 2U);
  options.credentials["conf"] = Credential{origin_of(server.url("/")), "X-Conf: c4nary"};
  fetcher.reset();
  EXPECT_THAT(error(feed(server.url("/feed"), {"auth=conf", its})).detail, HasSubstr("a secret for an http origin"));
  EXPECT_EQ(server.requests().size(), 2U);
  // Without the login, nothing is sent.
  const FetchError missing = error(feed(server.url("/feed"), {"auth=reader/paper"}));
  EXPECT_EQ(missing.reason, Reason::status_auth);
  EXPECT_THAT(missing.detail, HasSubstr("its login reader/paper is not stored: feedmill login set reader/paper"));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(RequestStyleTest, SendsNoSubscriberCountUnlessConfigured) {
  answer(feed(server.url("/feed"), {"subscribers=17"}));
  EXPECT_THAT(server.requests().back().head, Not(HasSubstr("subscribers")));
}

// HTTP R4: two ports of one host are two origins.
TEST_F(RequestStyleTest, SendsNoSecretAndNoHeaderToAnotherOrigin) {
  server.serve("/away", Response{.status = 302, .headers = {{"Location", other.url("/feed")}}});
  server.serve("/back", Response{.status = 302, .headers = {{"Location", other.url("/return")}}});
  other.serve("/return", Response{.status = 302, .headers = {{"Location", server.url("/feed")}}});
  const std::vector<std::string> settings = {"auth=news", "header.X-Client=mine", "header.Accept=text/xml"};
  for (const char* path : {"/away", "/back"}) {
    FetchRequest request = feed(server.url(path), settings);
    answer(std::move(request));
  }
  for (const ServedRequest& request : server.requests()) {
    EXPECT_EQ(request.header("Authorization"), "Basic czNjcmV0") << request.target;
    EXPECT_EQ(request.header("X-Client"), "mine") << request.target;
    EXPECT_EQ(request.header("Accept"), "text/xml") << request.target;
  }
  ASSERT_EQ(other.requests().size(), 2U);
  const std::string agent = user_agent("", server.url("/away"));
  EXPECT_EQ(other.requests()[0].head, golden(other, agent));
  for (const ServedRequest& request : other.requests()) {
    EXPECT_THAT(request.head, Not(HasSubstr("czNjcmV0"))) << request.target;
    EXPECT_THAT(request.head, Not(HasSubstr("mine"))) << request.target;
  }
  // A secret for the second origin is sent there, and not to the first.
  answer(feed(server.url("/away"), {"auth=elsewhere"}));
  EXPECT_THAT(server.requests().back().head, Not(HasSubstr("c4nary")));
  EXPECT_EQ(other.requests().back().header("X-Api-Key"), "c4nary");
}

// HTTP §4, 431
TEST_F(RequestStyleTest, DropsTheFeedsHeadersOnceWhenTheyAreTooMuch) {
  server.serve("/feed", [](const ServedRequest& request) {
    return request.header("X-Client").empty() ? Response{.body = "x"} : Response{.status = 431};
  });
  const FetchResponse response = answer(feed(server.url("/feed"), {"header.X-Client=mine", "auth=news"}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.hops.size(), 1U);
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(server.requests()[1].header("Authorization"), "Basic czNjcmV0");
  server.serve("/feed", Response{.status = 431});
  EXPECT_EQ(answer(feed(server.url("/feed"), {"header.X-Client=mine"})).status, 431);
  EXPECT_EQ(server.requests().size(), 4U) << "once";
  EXPECT_EQ(answer(feed(server.url("/feed"), {})).status, 431);
  EXPECT_EQ(server.requests().size(), 5U) << "there was nothing to drop";
}

// SECURITY E2, K2: a feed with a setting that is not configured is not fetched at all.
TEST_F(RequestStyleTest, SendsNothingForNamesThatAreNotConfigured) {
  const FetchError policy = error(feed(server.url("/feed"), {"policy=intranet"}));
  EXPECT_EQ(policy.reason, Reason::egress_blocked);
  EXPECT_THAT(policy.detail, HasSubstr("policy intranet"));
  const FetchError auth = error(feed(server.url("/feed"), {"auth=nobody"}));
  EXPECT_EQ(auth.reason, Reason::status_auth);
  EXPECT_THAT(auth.detail, HasSubstr("auth nobody"));
  const FetchError proxy = error(feed(server.url("/feed"), {"proxy=http://127.0.0.1:1"}));
  EXPECT_EQ(proxy.reason, Reason::egress_blocked);
  EXPECT_THAT(proxy.detail, HasSubstr("fetch.proxy_enforces_egress"));
  for (const FetchError& refused : {policy, auth, proxy}) EXPECT_FALSE(refused.sent);
  EXPECT_EQ(server.requests().size(), 0U);
}

// SECURITY E8: the second feed must not get the connection that the first one kept open.
TEST_F(RequestStyleTest, KeepsTheConnectionsOfPoliciesApart) {
  const std::string url = server.url("a.example", "/feed");
  EXPECT_EQ(answer(feed(url, {"policy=open"})).connections_new, 1U);
  EXPECT_EQ(answer(feed(url, {"policy=open"})).connections_reused, 1U);
  EXPECT_EQ(error(feed(url, {"policy=closed"})).reason, Reason::egress_blocked);
  EXPECT_EQ(error(feed(server.url("/feed"), {"policy=closed"})).reason, Reason::egress_blocked);
  EXPECT_EQ(answer(feed(url, {})).connections_new, 1U) << "nor does another policy that allows it";
  EXPECT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.connections(), 2U);
}

TEST_F(RequestStyleTest, CountsAsTheOperatorsOwnWhatItsPolicyOpens) {
  EXPECT_TRUE(answer(feed(server.url("/feed"), {"policy=open"})).opened_by_allow);
  options.egress = EgressPolicy();
  fetcher.reset();
  EXPECT_TRUE(answer(feed(server.url("/feed"), {"policy=open"})).opened_by_allow);
}

// --- through a proxy ------------------------------------------------------------------------------------------------

class ProxyTest : public RequestStyleTest {
 protected:
  ProxyTest() {
    options.proxy_enforces_egress = true;
    options.egress = EgressPolicy();  // the proxy's own address is exempt, and no other is checked
  }

  test::ProxyServer proxy;
};

TEST_F(ProxyTest, ForwardsRequests) {
  options.proxy = proxy.url();
  const std::string url = server.url("feeds.example", "/feed"), host = "feeds.example:" + std::to_string(server.port());
  const FetchResponse response = answer(feed(url, {}));
  EXPECT_EQ(response.body, "x");
  EXPECT_FALSE(response.opened_by_allow);
  EXPECT_THAT(proxy.heads(),
              ElementsAre("GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " + user_agent("", url) +
                          "\r\nProxy-Connection: Keep-Alive\r\n" + accept_line + coding_line + "\r\n"));
  EXPECT_EQ(names.count("feeds.example"), 0U) << "the name is the proxy's to resolve";
}

TEST_F(ProxyTest, IsFoundByName) {
  options.proxy = "http://proxy.example:" + std::to_string(proxy.port());
  EXPECT_EQ(answer(feed(server.url("feeds.example", "/feed"), {})).body, "x");
  EXPECT_GT(names.count("proxy.example"), 0U);
}

TEST_F(ProxyTest, TellsItsPasswordToTheProxyAlone) {
  options.proxy = "http://me:s3cret@127.0.0.1:" + std::to_string(proxy.port());
  EXPECT_EQ(answer(feed(server.url("feeds.example", "/feed"), {})).body, "x");
  EXPECT_THAT(proxy.heads().at(0), HasSubstr("Proxy-Authorization: Basic bWU6czNjcmV0\r\n"));
  options.proxy = "http://me:s3cret@127.0.0.1:1";
  fetcher.reset();
  const FetchError refused = error(feed(server.url("feeds.example", "/feed"), {}));
  EXPECT_EQ(refused.reason, Reason::connect_refused);
  EXPECT_THAT(refused.detail, Not(HasSubstr("s3cret")));
}

TEST_F(ProxyTest, IsChosenByTheFeed) {
  test::ProxyServer second;
  options.proxy = proxy.url();
  answer(feed(server.url("feeds.example", "/feed"), {"proxy=" + second.url()}));
  EXPECT_EQ(second.heads().size(), 1U);
  EXPECT_EQ(proxy.heads().size(), 0U);
  EXPECT_EQ(error(feed(server.url("/feed"), {"proxy=none"})).reason, Reason::egress_blocked)
      << "then the policy decides";
  EXPECT_EQ(answer(feed(server.url("/feed"), {"proxy=none", "policy=open"})).body, "x");
  EXPECT_EQ(proxy.heads().size(), 0U);
}

TEST_F(ProxyTest, TunnelsToHttpsAndKeepsSecretsInside) {
  const test::Authority authority;
  HttpServer secure(authority.issue({.names = {"DNS:feeds.example"}}));
  secure.serve("/feed", Response{.headers = {{"X-Origin", "here"}}, .body = "sealed"});
  options.proxy = proxy.url();
  options.ca_bundle = authority.file();
  const std::string url = secure.url("feeds.example", "/feed");
  options.credentials["sealed"] = {origin_of(url), "Authorization: Basic czNjcmV0"};
  const FetchResponse response = answer(feed(url, {"auth=sealed", "header.X-Client=mine"}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "sealed");
  EXPECT_EQ(response.header("x-origin"), "here");
  EXPECT_EQ(response.header("x-proxy"), "") << "what the proxy says of itself is not the answer";
  const std::string host = "feeds.example:" + std::to_string(secure.port());
  EXPECT_THAT(proxy.heads(), ElementsAre("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " +
                                         user_agent("", url) + "\r\nProxy-Connection: Keep-Alive\r\n\r\n"));
  EXPECT_EQ(secure.requests().at(0).header("Authorization"), "Basic czNjcmV0");
}

TEST_F(ProxyTest, SaysWhyTheProxyRefuses) {
  options.proxy = proxy.url();
  const std::string url = "https://feeds.example:8443/feed";
  const std::vector<std::pair<int, Reason>> cases = {
      {403, Reason::egress_blocked}, {407, Reason::status_auth}, {502, Reason::connect_failed}};
  for (const auto& [status, reason] : cases) {
    proxy.refuse(status);
    const FetchError refused = error(feed(url, {}));
    EXPECT_EQ(refused.reason, reason) << status;
    EXPECT_THAT(refused.detail, HasSubstr(std::to_string(status)));
  }
}

// --- TLS per feed ---------------------------------------------------------------------------------------------------

TEST_F(RequestStyleTest, TrustsTheFeedsOwnAuthorityForThatFeedAlone) {
  const test::Authority own;
  HttpServer secure(own.issue({.names = {"DNS:feeds.example"}}));
  secure.serve("/feed", Response{.body = "x"});
  const std::string url = secure.url("feeds.example", "/feed");
  EXPECT_EQ(answer(feed(url, {"ca_file=" + own.file()})).body, "x");
  EXPECT_EQ(error(feed(url, {})).reason, Reason::tls_verify) << "nor over the connection that is open";
  EXPECT_EQ(answer(feed(url, {"ca_file=" + own.file()})).connections_reused, 1U);
}

/// SECURITY E11. Without a writer, opening a pipe would block forever.
TEST_F(RequestStyleTest, ACaPathThatIsNotARegularFileDoesNotBlock) {
  const test::Authority own;
  HttpServer secure(own.issue({.names = {"DNS:feeds.example"}}));
  secure.serve("/feed", Response{.body = "x"});
  const std::string url = secure.url("feeds.example", "/feed"), fifo = own.file() + ".fifo", big = own.file() + ".big";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(big) << std::string((1U << 20U) + 1, 'x');
  for (const auto& [file, why] :
       {std::pair(fifo, "not a regular file"), std::pair(std::string("/dev/zero"), "not a regular file"),
        std::pair(std::string("/tmp"), "not a regular file"), std::pair(big, "larger than"),
        std::pair(std::string("/nowhere"), "cannot be read")}) {
    const FetchError refused = error(feed(url, {"ca_file=" + file}));
    EXPECT_EQ(refused.reason, Reason::tls_handshake) << file;
    EXPECT_THAT(refused.detail, HasSubstr(why));
  }
  std::filesystem::remove(fifo);
  std::filesystem::remove(big);
  EXPECT_EQ(answer(feed(url, {"ca_file=" + own.file()})).body, "x");
}

TEST_F(RequestStyleTest, WantsOneOfThePinnedKeys) {
  const test::Authority own;
  HttpServer secure(own.issue({.names = {"DNS:feeds.example"}}));
  secure.serve("/feed", Response{.body = "x"});
  const std::string url = secure.url("feeds.example", "/feed"), ca = "ca_file=" + own.file();
  EXPECT_EQ(answer(feed(url, {ca})).body, "x");
  EXPECT_EQ(error(feed(url, {ca, "pin=sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="})).reason,
            Reason::tls_verify);
}

// HTTP H7: the protocol configured for a host.
TEST_F(RequestStyleTest, SpeaksHttp1WhereConfigured) {
  const test::Authority authority;
  // The server records the protocols that the client offers in the handshake.
  std::vector<std::string> offered;
  const auto note = [](SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                       unsigned in_size, void* data) {
    static_cast<std::vector<std::string>*>(data)->emplace_back(reinterpret_cast<const char*>(in), in_size);
    static constexpr unsigned char http1[] = "http/1.1";
    *out = http1;
    *out_size = sizeof http1 - 1;
    return SSL_TLSEXT_ERR_OK;
  };
  HttpServer secure(authority.issue({.names = {"DNS:a.example", "DNS:b.example"}}),
                    [&](SSL_CTX* context_of_server) { SSL_CTX_set_alpn_select_cb(context_of_server, note, &offered); });
  secure.serve("/feed", Response{.body = "x", .end = Response::End::close});
  options.ca_bundle = authority.file();
  options.http1_hosts = {"b.example"};
  answer(feed(secure.url("a.example", "/feed"), {}));
  answer(feed(secure.url("a.example", "/feed"), {"http_version=1.1"}));
  answer(feed(secure.url("b.example", "/feed"), {}));
  ASSERT_EQ(secure.requests().size(), 3U);
  ASSERT_EQ(offered.size(), 3U);
  EXPECT_THAT(offered[0], HasSubstr("h2"));
  EXPECT_THAT(offered[1], Not(HasSubstr("h2")));
  EXPECT_THAT(offered[2], Not(HasSubstr("h2")));
}

}  // namespace
}  // namespace feedmill::request_style_test
