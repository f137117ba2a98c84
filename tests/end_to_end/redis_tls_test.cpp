// The program with Redis over TLS: a full run, the doctor's report, and a server with an expired certificate.
#include <gtest/gtest.h>

#include "tests/end_to_end/program.hpp"
#include "tests/support/tls_port.hpp"

namespace feedmill::test::redis_tls_test {
namespace {

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

class RedisOverTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!redis_tls_is_built()) GTEST_SKIP() << "hiredis has no TLS here (before 1.0)";
    port.emplace(world.redis);
    world.environment["FEEDMILL_REDIS_URL"] = port->url("localhost");
    world.environment["FEEDMILL_REDIS_CA_FILE"] = port->authority().file();
    world.http.serve("/feed.xml", {.body = rss({{"a", "First"}, {"b", "Second"}})});
  }
  std::string entries() { return world.redis_text({"GET", "ids:Entry"}); }

  World world;
  std::optional<TlsPort> port;
};

TEST_F(RedisOverTls, EverythingGoesThroughIt) {
  const Finished added = world.run({"add", world.http.url("/feed.xml")});
  EXPECT_EQ(added.exit, 0) << added.err;
  const Finished round = world.run({"run", "--once"});
  EXPECT_EQ(round.exit, 0) << round.err;
  EXPECT_EQ(entries(), "2");
  EXPECT_EQ(world.count("post_created"), 2U);
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"list"},
                                               {"stats"},
                                               {"notices"},
                                               {"entries", world.http.url("/feed.xml")},
                                               {"explain", world.http.url("/feed.xml")}}) {
    const Finished done = world.run(verb);
    EXPECT_EQ(done.exit, 0) << verb.front() << ": " << done.err;
  }
  const Program tail({"tail", "--from", "0"}, world.environment);
  EXPECT_TRUE(eventually([&] { return has(tail.out(), "Second"); })) << tail.out() << tail.err();
  const Finished doctor = world.run({"doctor"});
  EXPECT_TRUE(has(doctor.out, "noeviction, TLSv1.3")) << doctor.out;
}

TEST_F(RedisOverTls, WorkerPresentsItsCertificateAndSurvivesTheServersExpiry) {
  port->ask_for_certificates(true);
  const TlsPort::Files own = port->write("worker", port->authority().issue({.usage = "clientAuth"}));
  const Finished without = world.run({"run", "--once"});
  EXPECT_EQ(without.exit, 78);
  EXPECT_TRUE(has(without.err, "set redis.cert_file and redis.key_file")) << without.err;
  world.environment["FEEDMILL_REDIS_CERT_FILE"] = own.certificate;
  world.environment["FEEDMILL_REDIS_KEY_FILE"] = own.key;
  Program worker({"run"}, world.environment);
  ASSERT_EQ(world.run({"add", world.http.url("/feed.xml")}).exit, 0);
  ASSERT_TRUE(eventually([&] { return entries() == "2"; })) << worker.err();

  // The server's certificate expires; new connections notice it.
  CertificateWish expired = TlsPort::usual();
  expired.valid_from_days = -9;
  expired.valid_until_days = -1;
  port->present(expired);
  world.redis_text({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  ASSERT_TRUE(eventually([&] { return has(worker.err(), "has expired"); })) << worker.err();
  EXPECT_FALSE(worker.ended());
  port->present(TlsPort::usual());
  worker.signal(SIGTERM);
  EXPECT_FALSE(has(worker.wait().err, "event=bug"));
  port->write("worker", port->authority().issue({.usage = "clientAuth"}));
  world.http.serve("/other.xml", {.body = rss({{"c", "Third"}})});
  ASSERT_EQ(world.run({"add", world.http.url("/other.xml")}).exit, 0);
  const Finished renewed = world.run({"refresh", world.http.url("/other.xml"), "--ignore-floor"});
  EXPECT_EQ(renewed.exit, 0) << renewed.err;
  EXPECT_EQ(entries(), "3");
}

TEST_F(RedisOverTls, AtTheStartNamesTheRemedy) {
  struct Case {
    Environment more;
    std::string told;
  };
  const Authority another;
  const std::string name = "FEEDMILL_REDIS_URL";
  for (const Case& wrong :
       {Case{{{"FEEDMILL_REDIS_CA_FILE", another.file()}}, "add its authority"},
        Case{{{"FEEDMILL_REDIS_CA_FILE", "/nowhere/ca.pem"}}, "redis.ca_file = \"/nowhere/ca.pem\""},
        Case{{{name, "redis://localhost:" + std::to_string(port->port())}}, "use rediss:// in redis.url"}}) {
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"run"}, {"list"}}) {
      const Finished refused = world.run(verb, wrong.more);
      EXPECT_EQ(refused.exit, 78) << refused.err;
      EXPECT_TRUE(has(refused.err, wrong.told)) << refused.err;
    }
  }
  port->present({.names = {"DNS:redis.example"}});
  const Finished another_name = world.run({"run"});
  EXPECT_EQ(another_name.exit, 78);
  EXPECT_TRUE(has(another_name.err, "is not for localhost")) << another_name.err;
  EXPECT_TRUE(has(world.run({"doctor"}).out, "is not for localhost"));
}

TEST(RedisWithoutTls, IsRefusedWithARemedy) {
  if (redis_tls_is_built()) GTEST_SKIP() << "hiredis has TLS here";
  World world;
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"run"}, {"list"}, {"doctor"}}) {
    const Finished refused = world.run(verb, {{"FEEDMILL_REDIS_URL", "rediss://:s3cret@redis.example"}});
    EXPECT_EQ(refused.exit, 78) << refused.err;
    EXPECT_TRUE(has(refused.err, "stunnel")) << refused.err;
    EXPECT_FALSE(has(refused.err, "s3cret")) << refused.err;
  }
}

}  // namespace
}  // namespace feedmill::test::redis_tls_test
