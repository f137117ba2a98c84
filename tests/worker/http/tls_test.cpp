// Fetching over TLS: which certificates are trusted or refused, and which sessions are resumed.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "tests/support/await.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/dns_server.hpp"
#include "tests/support/http_server.hpp"
#include "worker/http/fetch.hpp"

namespace feedmill::tls_test {
namespace {

namespace asio = boost::asio;
using test::CertificateWish;
using test::HttpServer;
using test::Response;

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    names.serve_rest([](const std::string&) { return test::DnsAnswer{.addresses = {"127.0.0.1"}}; });
  }

  FetchOptions options() {
    FetchOptions wanted;
    wanted.egress = *EgressPolicy::parse(std::vector<std::string>{"127.0.0.0/8:1024-65535"}, {}, {});
    wanted.resolver.servers = names.address();
    wanted.ca_bundle = authority.file();
    return wanted;
  }
  FetchResult fetch(Fetcher& by, const std::string& url) {
    return test::await(context, by.fetch(FetchRequest{.feed_url = url, .url = url, .validators = {}}));
  }
  FetchResponse answer(Fetcher& by, const std::string& url) {
    FetchResult result = fetch(by, url);
    if (const auto* error = std::get_if<FetchError>(&result)) {
      ADD_FAILURE() << error->detail;
      return {};
    }
    return std::get<FetchResponse>(std::move(result));
  }
  Reason reason(Fetcher& by, const std::string& url) {
    const FetchResult result = fetch(by, url);
    const auto* error = std::get_if<FetchError>(&result);
    EXPECT_FALSE(error != nullptr && error->sent);
    return error != nullptr ? error->reason : Reason::none;
  }

  /// A server that closes each connection after its answer, so that the next fetch needs a handshake.
  std::unique_ptr<HttpServer> serve(const CertificateWish& wish, const std::function<void(SSL_CTX*)>& configure = {}) {
    auto server = std::make_unique<HttpServer>(authority.issue(wish), configure);
    server->serve("/feed", Response{.body = "x", .end = Response::End::close});
    return server;
  }

  test::Authority authority;
  test::DnsServer names;
  asio::io_context context;
};

TEST_F(TlsTest, TrustsItsAuthorities) {
  Fetcher by(context.get_executor(), options());
  const auto server = serve({.names = {"DNS:a.example", "IP:127.0.0.1"}});
  EXPECT_EQ(answer(by, server->url("a.example", "/feed")).body, "x");
  EXPECT_EQ(answer(by, server->url("/feed")).body, "x");
}

TEST_F(TlsTest, TrustsNoOtherCa) {
  Fetcher by(context.get_executor(), options());
  const test::Authority stranger;
  HttpServer unknown(stranger.issue({.names = {"DNS:a.example"}}));
  const auto expired = serve({.names = {"DNS:a.example"}, .valid_from_days = -9, .valid_until_days = -1});
  const auto future = serve({.names = {"DNS:a.example"}, .valid_from_days = 2});
  const auto other = serve({.names = {"DNS:b.example"}});
  EXPECT_EQ(reason(by, unknown.url("a.example", "/feed")), Reason::tls_verify);
  EXPECT_EQ(reason(by, expired->url("a.example", "/feed")), Reason::tls_verify);
  EXPECT_EQ(reason(by, future->url("a.example", "/feed")), Reason::tls_verify);
  EXPECT_EQ(reason(by, other->url("a.example", "/feed")), Reason::tls_verify);
  EXPECT_EQ(reason(by, other->url("/feed")), Reason::tls_verify);
}

TEST_F(TlsTest, SpeaksNoOldProtocol) {
  Fetcher by(context.get_executor(), options());
  const auto old = serve({.names = {"DNS:a.example"}}, [](SSL_CTX* tls) {
    SSL_CTX_set_security_level(tls, 0);
    SSL_CTX_set_min_proto_version(tls, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(tls, TLS1_1_VERSION);
  });
  EXPECT_EQ(reason(by, old->url("a.example", "/feed")), Reason::tls_handshake);
}

// SECURITY T12: no setting turns off any of these checks.
TEST_F(TlsTest, RefusesWhateverIsWrong) {
  struct Row {
    const char* what;
    CertificateWish wish;
    std::function<void(SSL_CTX*)> configure;
    Reason expected;
  };
  const std::vector<std::string> right = {"DNS:a.example"};
  const auto only = [](int version) {
    return [version](SSL_CTX* tls) {
      SSL_CTX_set_min_proto_version(tls, version);
      SSL_CTX_set_max_proto_version(tls, version);
    };
  };
  const std::vector<Row> rows = {
      {"expired", {.names = right, .valid_from_days = -9, .valid_until_days = -1}, {}, Reason::tls_verify},
      {"not yet valid", {.names = right, .valid_from_days = 2}, {}, Reason::tls_verify},
      {"another host", {.names = {"DNS:b.example"}}, {}, Reason::tls_verify},
      {"a parent", {.names = {"DNS:example"}}, {}, Reason::tls_verify},
      {"a wildcard one level too high", {.names = {"DNS:*"}}, {}, Reason::tls_verify},
      {"a wildcard one level too low", {.names = {"DNS:*.a.example"}}, {}, Reason::tls_verify},
      {"an address instead of the name", {.names = {"IP:127.0.0.1"}}, {}, Reason::tls_verify},
      {"no name at all", {}, {}, Reason::tls_verify},
      {"signed by itself", {.names = right, .self_signed = true}, {}, Reason::tls_verify},
      {"for clients only", {.names = right, .usage = "clientAuth"}, {}, Reason::tls_verify},
      {"a key of 1024 bits", {.names = right, .rsa_bits = 1024}, {}, Reason::tls_verify},
      {"a key of 512 bits", {.names = right, .rsa_bits = 512}, {}, Reason::tls_handshake},
      {"signed with SHA-1", {.names = right, .digest = "SHA1"}, {}, Reason::tls_verify},
      {"a huge chain", {.names = right, .chain_bytes = 300'000}, {}, Reason::tls_handshake},
      {"TLS 1.0", {.names = right}, only(TLS1_VERSION), Reason::tls_handshake},
      {"TLS 1.1", {.names = right}, only(TLS1_1_VERSION), Reason::tls_handshake},
      {"anonymous",
       {.names = right},
       [&](SSL_CTX* tls) {
         only(TLS1_2_VERSION)(tls);
         SSL_CTX_set_cipher_list(tls, "aNULL:@SECLEVEL=0");
       },
       Reason::tls_handshake},
      {"no encryption",
       {.names = right},
       [&](SSL_CTX* tls) {
         only(TLS1_2_VERSION)(tls);
         SSL_CTX_set_cipher_list(tls, "eNULL:@SECLEVEL=0");
       },
       Reason::tls_handshake},
      {"wants a certificate of ours",
       {.names = right},
       [&](SSL_CTX* tls) {
         only(TLS1_2_VERSION)(tls);
         SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
       },
       Reason::tls_handshake},
  };
  Fetcher by(context.get_executor(), options());
  for (const Row& row : rows) {
    const auto server = serve(row.wish, row.configure);
    EXPECT_EQ(reason(by, server->url("a.example", "/feed")), row.expected) << row.what;
    EXPECT_TRUE(server->requests().empty()) << row.what;
  }
  const test::Authority stranger;
  HttpServer unknown(stranger.issue({.names = right}));
  EXPECT_EQ(reason(by, unknown.url("a.example", "/feed")), Reason::tls_verify);
  FetchOptions without = options();
  without.ca_bundle = "/nonexistent";
  Fetcher trusting_nobody(context.get_executor(), without);
  const auto good = serve({.names = right});
  EXPECT_EQ(reason(trusting_nobody, good->url("a.example", "/feed")), Reason::tls_handshake);
  EXPECT_EQ(answer(by, good->url("a.example", "/feed")).body, "x");  // the control
}

// HTTP X1
TEST_F(TlsTest, FiftyFeedsOfAHostNeedOneConnection) {
  HttpServer server(authority.issue({.names = {"DNS:a.example"}}));
  server.serve_rest([](const test::ServedRequest&) { return Response{.body = "x"}; });
  Fetcher by(context.get_executor(), options());
  for (int i = 0; i < 50; ++i) answer(by, server.url("a.example", "/feed/" + std::to_string(i)));
  EXPECT_EQ(server.connections(), 1u);
}

// HTTP X1: eight idle connections are kept, four of them for any host.
TEST_F(TlsTest, KeepsConnectionsOfHostsThatAreAskedAgain) {
  std::vector<std::string> hosts;
  CertificateWish wish;
  for (int i = 0; i < 16; ++i) wish.names.push_back("DNS:" + hosts.emplace_back("h" + std::to_string(i) + ".example"));
  HttpServer server(authority.issue(wish));
  server.serve_rest([](const test::ServedRequest&) { return Response{.body = "x"}; });
  FetchOptions wanted = options();
  wanted.keep_alive = 8;
  Fetcher by(context.get_executor(), wanted);
  const auto ask = [&](std::size_t first, std::size_t last) {
    const std::size_t before = server.connections();
    for (std::size_t i = first; i < last; ++i) answer(by, server.url(hosts[i], "/feed"));
    return server.connections() - before;
  };
  EXPECT_EQ(ask(0, 6), 6u);
  EXPECT_EQ(ask(0, 6), 2u);  // four were kept
  EXPECT_EQ(ask(0, 6), 0u);  // all were kept, since the hosts were asked again
  EXPECT_EQ(ask(6, 16), 10u);
  EXPECT_EQ(ask(0, 6), 0u);  // hosts asked only once did not evict them
}

// HTTP §5
TEST_F(TlsTest, FollowsDowngradesOnlyWhenAllowed) {
  HttpServer plain;
  plain.serve("/feed", Response{.body = "plain"});
  const auto server = serve({.names = {"IP:127.0.0.1"}});
  server->serve("/from", Response{.status = 301, .headers = {{"Location", plain.url("/feed")}}});
  Fetcher strict(context.get_executor(), options());
  const FetchResult refused = fetch(strict, server->url("/from"));
  ASSERT_TRUE(std::holds_alternative<FetchError>(refused));
  EXPECT_EQ(std::get<FetchError>(refused).reason, Reason::redirect_downgrade);
  EXPECT_EQ(plain.connections(), 0u);
  FetchOptions lenient = options();
  lenient.allow_downgrade = true;
  Fetcher by(context.get_executor(), lenient);
  EXPECT_EQ(answer(by, server->url("/from")).body, "plain");
}

// HTTP X1
TEST_F(TlsTest, ResumesSessions) {
  for (const int version : {TLS1_3_VERSION, TLS1_2_VERSION}) {
    const auto server = serve({.names = {"DNS:a.example", "DNS:b.example"}}, [version](SSL_CTX* tls) {
      SSL_CTX_set_min_proto_version(tls, version);
      SSL_CTX_set_max_proto_version(tls, version);
    });
    Fetcher by(context.get_executor(), options());
    for (int i = 0; i < 6; ++i) {
      const FetchResponse response = answer(by, server->url("a.example", "/feed"));
      EXPECT_EQ(response.connections_new, 1u);
      EXPECT_EQ(response.connections_resumed, i == 0 ? 0u : 1u) << version << " " << i;
    }
    EXPECT_EQ(server->resumptions(), 5u);
    EXPECT_EQ(answer(by, server->url("b.example", "/feed")).connections_resumed, 0u);  // sessions belong to a host
    Fetcher other(context.get_executor(), options());                                  // and to a fetcher
    EXPECT_EQ(answer(other, server->url("a.example", "/feed")).connections_resumed, 0u);
  }
}

TEST_F(TlsTest, SurvivesServersThatForgetTheirSessions) {
  const auto wish = CertificateWish{.names = {"DNS:a.example"}};
  Fetcher by(context.get_executor(), options());
  int connection = 0;
  const auto server = serve(wish, [](SSL_CTX* tls) { SSL_CTX_set_num_tickets(tls, 1); });
  for (; connection < 3; ++connection) EXPECT_EQ(answer(by, server->url("a.example", "/feed")).body, "x");
  EXPECT_EQ(server->resumptions(), 2u);
}

// Each host resumes its own session, however many hosts there are.
TEST_F(TlsTest, ResumesOverManyHosts) {
  const auto server = serve({.names = {"DNS:*.hosts.example"}});
  Fetcher by(context.get_executor(), options());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      const FetchResponse response = answer(by, server->url("h" + std::to_string(i) + ".hosts.example", "/feed"));
      EXPECT_EQ(response.connections_resumed, round == 0 ? 0u : 1u) << i;
    }
  }
}

}  // namespace
}  // namespace feedmill::tls_test
