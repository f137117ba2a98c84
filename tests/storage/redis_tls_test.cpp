// rediss:// with a real redis-server and its TLS port: which certificates are trusted, which are rejected, and the
// error messages (SECURITY §10).
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/wait.h>
#include <thread>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <signal.h>

#include "storage/feeds/fleet.hpp"
#include "storage/redis/redis.hpp"
#include "storage/store/store.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/tls_port.hpp"

namespace feedmill::redis_tls_test {
namespace {

using Code = StoreError::Code;
using test::CertificateWish;
using test::FaultProxy;
using test::TlsPort;

class RedisTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::redis_tls_is_built()) GTEST_SKIP() << "hiredis has no TLS here (before 1.0)";
    port.emplace(server);
  }

  /// The server by name or IP address, with its authority trusted.
  RedisAddress address(const std::string& host = "127.0.0.1") const { return trusting(port->url(host, "feedmill")); }
  RedisAddress trusting(const std::string& url) const {
    RedisAddress address = *parse_redis_url(url);
    address.ca_file = port->authority().file();
    return address;
  }

  static StoreError refused(const RedisAddress& address, Milliseconds timeout = Milliseconds(5000)) {
    Redis redis(address, timeout);
    const auto connected = redis.command({"PING"});
    if (connected) return {Code::bug, "it was connected"};
    EXPECT_FALSE(redis.connected());
    return connected.error();
  }

  test::RedisServer server;
  std::optional<TlsPort> port;
};

bool has(const StoreError& error, std::string_view words) {
  return error.detail.find(words) != std::string::npos;
}

TEST_F(RedisTls, UrlsHaveTheFormOfThoseWithout) {
  const auto address = parse_redis_url("rediss://me:s3cret@redis.example:6380/2");
  ASSERT_TRUE(address) << address.error().detail;
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(address->host, "redis.example");
  EXPECT_EQ(address->port, 6380);
  EXPECT_EQ(address->user, "me");
  EXPECT_EQ(address->password, "s3cret");
  EXPECT_EQ(address->database, 2);
  EXPECT_FALSE(parse_redis_url("redis://redis.example")->tls);
}

TEST_F(RedisTls, ConnectsToTheAddressAndToTheNameInTheCertificate) {
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    Redis redis(address(host), Milliseconds(5000));
    const auto pong = redis.command({"PING"});
    ASSERT_TRUE(pong) << host << ": " << pong.error().detail;
    EXPECT_EQ(pong->text(), "PONG");
    EXPECT_EQ(redis.link(), "TLSv1.3");
  }
}

TEST_F(RedisTls, SpeaksVersion12WhereThereIsNoOther) {
  port->speak("TLSv1.2");
  Redis redis(address(), Milliseconds(5000));
  ASSERT_TRUE(redis.connect());
  EXPECT_EQ(redis.link(), "TLSv1.2");
}

TEST_F(RedisTls, CarriesManyBytesBothWaysUnchanged) {
  Redis redis(address(), Milliseconds(20'000));
  ASSERT_TRUE(redis.connect());
  std::string big;
  for (int i = 0; big.size() < (5U << 20U); ++i) big.append(1, static_cast<char>(i * 7 % 251));
  for (const char* const key : {"Entry:1", "Entry:2", "Entry:3"}) redis.append({"HSET", key, "content", big});
  for (int i = 0; i < 3; ++i) {
    const auto stored = redis.next();
    ASSERT_TRUE(stored) << stored.error().detail;
  }
  redis.append({"HGET", "Entry:2", "content"});
  redis.append({"HGET", "Entry:3", "content"});
  EXPECT_EQ(redis.next()->text(), big);
  EXPECT_EQ(redis.next()->text(), big);
}

// --- untrusted servers -----------------------------------------------------------------------------------------------

TEST_F(RedisTls, RefusesAnUnknownAuthority) {
  RedisAddress unknown = address();
  unknown.ca_file.clear();
  const StoreError system = refused(unknown);
  EXPECT_EQ(system.code, Code::tls);
  EXPECT_TRUE(has(system, "set redis.ca_file")) << system.detail;
  const test::Authority another;
  unknown.ca_file = another.file();
  const StoreError own = refused(unknown);
  EXPECT_EQ(own.code, Code::tls);
  EXPECT_TRUE(has(own, another.file())) << own.detail;
}

TEST_F(RedisTls, RefusesACertificateThatSignedItself) {
  CertificateWish wish = TlsPort::usual();
  wish.self_signed = true;
  port->present(wish);
  const StoreError error = refused(address());
  EXPECT_EQ(error.code, Code::tls);
  EXPECT_TRUE(has(error, "redis.ca_file")) << error.detail;
}

TEST_F(RedisTls, TrustsACertificateThatTheFileItselfHolds) {
  CertificateWish wish = TlsPort::usual();
  wish.self_signed = true;
  port->present(wish);
  RedisAddress pinned = address();
  pinned.ca_file = (server.directory() / "server.crt").string();
  EXPECT_TRUE(Redis(pinned, Milliseconds(5000)).connect());
}

struct WrongCertificate {
  const char* name;
  CertificateWish wish;
  const char* host;
  const char* told;
};
class WrongCertificates : public RedisTls, public testing::WithParamInterface<WrongCertificate> {};

TEST_P(WrongCertificates, AreRefused) {
  EXPECT_TRUE(Redis(address(GetParam().host), Milliseconds(5000)).connect()) << "before, all was well";
  port->present(GetParam().wish);
  const StoreError error = refused(address(GetParam().host));
  EXPECT_EQ(error.code, Code::tls);
  EXPECT_TRUE(has(error, GetParam().told)) << error.detail;
  EXPECT_TRUE(has(error, std::string(GetParam().host) + ":" + std::to_string(port->port()))) << error.detail;
  EXPECT_FALSE(has(error, "feedmill")) << error.detail;
}

CertificateWish for_names(std::vector<std::string> names) {
  return {.names = std::move(names)};
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCertificates,
    testing::Values(
        WrongCertificate{"AnotherName", for_names({"DNS:redis.example"}), "localhost", "is not for localhost"},
        WrongCertificate{"ANameAround", for_names({"DNS:localhost.example"}), "localhost", "is not for localhost"},
        WrongCertificate{"AnotherAddress", for_names({"IP:127.0.0.2"}), "127.0.0.1", "is not for 127.0.0.1"},
        WrongCertificate{"TheAddressAsAName", for_names({"DNS:127.0.0.1"}), "127.0.0.1", "is not for 127.0.0.1"},
        WrongCertificate{"NoName", for_names({}), "localhost", "is not for localhost"},
        WrongCertificate{"Expired",
                         {.names = {"DNS:localhost"}, .valid_from_days = -9, .valid_until_days = -1},
                         "localhost",
                         "has expired"},
        WrongCertificate{
            "NotYetValid", {.names = {"DNS:localhost"}, .valid_from_days = 2}, "localhost", "is not valid yet"},
        WrongCertificate{"ForClients", {.names = {"DNS:localhost"}, .usage = "clientAuth"}, "localhost", "is refused"}),
    [](const auto& test) { return test.param.name; });

// --- servers that require client certificates ------------------------------------------------------------------------

class MutualTls : public RedisTls, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    RedisTls::SetUp();
    if (IsSkipped()) return;
    port->speak(GetParam());
    port->ask_for_certificates(true);
  }
  RedisAddress showing(const TlsPort::Files& files) const {
    RedisAddress own = address();
    own.cert_file = files.certificate;
    own.key_file = files.key;
    return own;
  }
};

TEST_P(MutualTls, AcceptsClientsWithACertificate) {
  Redis redis(showing(port->write("client", port->authority().issue({.usage = "clientAuth"}))), Milliseconds(5000));
  const auto pong = redis.command({"PING"});
  EXPECT_TRUE(pong) << pong.error().detail;
}

TEST_P(MutualTls, ReportsAMissingClientCertificate) {
  for (int i = 0; i < 20; ++i) {  // with TLS 1.3 the rejection arrives while data is being sent
    const StoreError error = refused(address());
    EXPECT_EQ(error.code, Code::tls) << error.detail;
    EXPECT_TRUE(has(error, "set redis.cert_file and redis.key_file")) << error.detail;
  }
}

TEST_P(MutualTls, ReportsAnUntrustedClientCertificate) {
  const test::Authority another;
  const StoreError error = refused(showing(port->write("client", another.issue({.usage = "clientAuth"}))));
  EXPECT_EQ(error.code, Code::tls) << error.detail;
  EXPECT_TRUE(has(error, "must trust the authority of redis.cert_file")) << error.detail;
}

INSTANTIATE_TEST_SUITE_P(All, MutualTls, testing::Values("TLSv1.2", "TLSv1.3"),
                         [](const auto& test) { return std::string(test.param) == "TLSv1.2" ? "Tls12" : "Tls13"; });

TEST_F(RedisTls, NamesTheFileThatCannotBeUsed) {
  const TlsPort::Files one = port->write("one", port->authority().issue({}));
  const TlsPort::Files two = port->write("two", port->authority().issue({}));
  const std::string empty = (server.directory() / "empty.pem").string();
  std::ofstream(empty).close();
  struct Case {
    std::string ca, certificate, key, told;
  };
  const std::string good = port->authority().file();
  for (const Case& wrong :
       {Case{"/nowhere/ca.pem", "", "", "redis.ca_file /nowhere/ca.pem"}, Case{empty, "", "", "redis.ca_file " + empty},
        Case{good, empty, one.key, "redis.cert_file " + empty},
        Case{good, one.certificate, "/nowhere/own.key", "redis.key_file /nowhere/own.key"},
        Case{good, one.certificate, two.key, "redis.key_file " + two.key}}) {
    RedisAddress address = this->address();
    address.ca_file = wrong.ca;
    address.cert_file = wrong.certificate;
    address.key_file = wrong.key;
    const StoreError error = refused(address);
    EXPECT_EQ(error.code, Code::tls);
    EXPECT_TRUE(has(error, wrong.told)) << error.detail;
  }
}

// --- servers without TLS, or too slow --------------------------------------------------------------------------------

TEST_F(RedisTls, ReportsAServerWithoutTls) {
  namespace asio = boost::asio;
  asio::io_context loop;
  asio::ip::tcp::acceptor acceptor(loop, {asio::ip::make_address("127.0.0.1"), 0});
  std::thread talker([&] {
    asio::ip::tcp::socket client = acceptor.accept();
    asio::write(client, asio::buffer(std::string("-ERR unknown command, with args beginning with:\r\n")));
    std::string heard;
    boost::system::error_code end;
    asio::read(client, asio::dynamic_buffer(heard), end);
  });
  const StoreError error = refused(trusting("rediss://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())));
  talker.join();
  EXPECT_EQ(error.code, Code::tls);
  EXPECT_TRUE(has(error, "does not speak TLS: write redis://")) << error.detail;
}

TEST_F(RedisTls, ThinksOfAServerWithoutTlsWhenThereIsNoAnswer) {
  const FaultProxy plain(server.admin_url());  // a plain Redis takes the handshake for the beginning of a command
  const StoreError error = refused(trusting("rediss://" + plain.address()), Milliseconds(300));
  EXPECT_EQ(error.code, Code::timeout);
  EXPECT_TRUE(has(error, "is redis:// meant?")) << error.detail;
}

TEST_F(RedisTls, ThinksOfTlsWhenAServerHangsUpAtOnce) {
  const StoreError error = refused(*parse_redis_url("redis://127.0.0.1:" + std::to_string(port->port())));
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_TRUE(has(error, "use rediss:// in redis.url")) << error.detail;
}

TEST_F(RedisTls, ReportsAHandshakeThatWasCutOff) {
  FaultProxy proxy("127.0.0.1:" + std::to_string(port->port()));
  proxy.shape(FaultProxy::Towards::client, {.close_after = 100});
  const StoreError error = refused(trusting("rediss://" + proxy.address()));
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_TRUE(has(error, "ended the TLS handshake")) << error.detail;
}

TEST_F(RedisTls, KeepsTheTimeoutOverAHandshakeThatCreeps) {
  FaultProxy proxy("127.0.0.1:" + std::to_string(port->port()));
  proxy.shape(FaultProxy::Towards::client, {.delay = Milliseconds(100), .piece = 1});  // it would take minutes
  EXPECT_EQ(refused(trusting("rediss://" + proxy.address()), Milliseconds(500)).code, Code::timeout);
}

TEST_F(RedisTls, NoticesABitThatWasTurned) {
  FaultProxy proxy("127.0.0.1:" + std::to_string(port->port()));
  Redis redis(trusting("rediss://feedmill:feedmill@" + proxy.address()), Milliseconds(5000));
  ASSERT_TRUE(redis.command({"PING"}));
  auto damaged = redis.command({"PING"});
  for (int times = 0; times < 500 && damaged; ++times) {  // the proxy counts a piece after forwarding it
    proxy.shape(FaultProxy::Towards::client, {.corrupt_at = proxy.passed(FaultProxy::Towards::client) + 10});
    damaged = redis.command({"PING"});
  }
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, Code::unavailable);
  EXPECT_TRUE(has(damaged.error(), "bad record mac")) << damaged.error().detail;
}

TEST_F(RedisTls, ComesBackAfterTheServerDied) {
  Redis redis(address(), Milliseconds(5000));
  ASSERT_TRUE(redis.command({"PING"}));
  server.kill();
  const auto lost = redis.command({"PING"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::unavailable);
  EXPECT_FALSE(has(lost.error(), "Success")) << lost.error().detail;
  server.start(port->arguments());
  const auto again = redis.command({"PING"});
  EXPECT_TRUE(again) << again.error().detail;
}

TEST_F(RedisTls, ReportsAServerThatDoesNotAnswer) {
  Redis redis(trusting("rediss://127.0.0.1:" + std::to_string(port->port())), Milliseconds(300));
  ASSERT_TRUE(redis.connect());
  const auto late = redis.command({"BLPOP", "empty", "0"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timeout) << late.error().detail;
  EXPECT_FALSE(redis.connected());
}

// --- the store over TLS ----------------------------------------------------------------------------------------------

TEST_F(RedisTls, IsConfiguredByStoreOptions) {
  StoreOptions options{.url = port->url("localhost")};
  EXPECT_EQ(Store(options).open().error().code, Code::tls);
  options.ca_file = port->authority().file();
  Store store(options);
  const auto opened = store.open();
  ASSERT_TRUE(opened) << opened.error().detail;
  EXPECT_EQ(Fleet(store).server()->link, "TLSv1.3");
  Store near(StoreOptions{.url = server.url()});
  EXPECT_EQ(Fleet(near).server()->link, "unix socket");
}

/// Requires that, with a TLS URL, sentinels and cluster nodes are queried over TLS, and that the server they name is
/// reached over TLS, too.
void expect_led_to(std::uint16_t port, const StoreOptions& options) {
  Store store(options);
  std::string told;
  EXPECT_TRUE(test::eventually([&] {
    const auto opened = store.open();
    if (!opened) told = opened.error().detail;
    return opened.has_value();
  })) << told;
  const auto led = Fleet(store).server();
  ASSERT_TRUE(led) << led.error().detail;
  EXPECT_TRUE(led->link.starts_with("TLSv1.3, 127.0.0.1:" + std::to_string(port))) << led->link;
}

TEST_F(RedisTls, IsUsedForNodesNamedByACluster) {
  const test::RedisServer node({"--cluster-enabled", "yes", "--port", std::to_string(test::free_port()),
                                "--cluster-port", std::to_string(test::free_port())});
  const TlsPort its(node);
  test::redis_command(node, {"CONFIG", "SET", "tls-cluster", "yes"});
  // Valkey reads its ports only at the start.
  test::redis_command(node, {"CONFIG", "SET", "cluster-announce-tls-port", std::to_string(its.port())});
  ASSERT_EQ(test::redis_command(node, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}), "OK");
  StoreOptions options{.url = "rediss+cluster://feedmill:feedmill@127.0.0.1:" + std::to_string(its.port())};
  EXPECT_EQ(Store(options).open().error().code, Code::tls) << "nobody is trusted";
  options.ca_file = its.authority().file();
  expect_led_to(its.port(), options);
}

TEST_F(RedisTls, IsUsedForServersNamedByASentinel) {
  const std::uint16_t own = test::free_port();
  const TlsPort::Files files = port->write("sentinel", port->authority().issue(TlsPort::usual()));
  const std::string config = (server.directory() / "sentinel.conf").string();
  std::ofstream(config) << "port 0\nbind 127.0.0.1\ndir " << server.directory().string() << "\ntls-port " << own
                        << "\ntls-cert-file " << files.certificate << "\ntls-key-file " << files.key
                        << "\ntls-ca-cert-file " << port->authority().file()
                        << "\ntls-auth-clients no\ntls-replication yes\nsentinel monitor mymaster 127.0.0.1 "
                        << port->port() << " 1\n";
  const pid_t sentinel = test::spawn_server({"redis-server", config, "--sentinel"});
  StoreOptions options{.url = "rediss+sentinel://feedmill:feedmill@127.0.0.1:" + std::to_string(own) + "/mymaster"};
  options.ca_file = port->authority().file();
  expect_led_to(port->port(), options);
  ::kill(sentinel, SIGKILL);
  ::waitpid(sentinel, nullptr, 0);
}

TEST_F(RedisTls, ReadsItsFilesForEachConnection) {
  const std::string file = (server.directory() / "trusted.pem").string();
  std::filesystem::copy_file(port->authority().file(), file);
  RedisAddress renewed = address();
  renewed.ca_file = file;
  Redis redis(renewed, Milliseconds(5000));
  ASSERT_TRUE(redis.connect());
  redis.disconnect();
  const test::Authority another;
  std::filesystem::copy_file(another.file(), file, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(redis.connect().error().code, Code::tls);
  std::filesystem::copy_file(port->authority().file(), file, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(redis.connect());
}

TEST(RedisWithoutTls, ErrorNamesTheRemedy) {
  if (test::redis_tls_is_built()) GTEST_SKIP() << "hiredis has TLS here";
  const auto refused = Store(StoreOptions{.url = "rediss://:s3cret@h"}).open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_TRUE(has(refused.error(), "Debian 13")) << refused.error().detail;
  EXPECT_TRUE(has(refused.error(), "stunnel")) << refused.error().detail;
  EXPECT_FALSE(has(refused.error(), "s3cret"));
}

}  // namespace
}  // namespace feedmill::redis_tls_test
